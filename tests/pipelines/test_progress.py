import io

import pytest
from rich.console import Console

from materialized.store import Store
from pipelines.progress import Goal, watched

KEYS = [f"chunks/{number:064d}/{'a' * 64}.parquet" for number in range(3)]


@pytest.fixture
def store(tmp_path):
    return Store.create(tmp_path / "store")


def test_what_has_appeared_in_the_store_is_what_is_done(store):
    console = Console(file=io.StringIO(), force_terminal=True, width=120, color_system=None)
    goals = [Goal((KEYS[0], KEYS[1]), 1000), Goal((KEYS[2],), 500)]
    with watched("columns", "chunks", goals, store, "hits 74.5 %", console):
        for key in KEYS[:2]:
            store.write_once(key, b"x")
    shown = console.file.getvalue()
    assert "columns" in shown
    assert "1/2 chunks" in shown
    assert "rows/s" in shown
    assert "hits 74.5 %" in shown


def test_nothing_is_shown_where_there_is_no_terminal(store):
    console = Console(file=io.StringIO(), force_terminal=False)
    with watched("columns", "chunks", [Goal((KEYS[0],))], store, "", console):
        store.write_once(KEYS[0], b"x")
    assert console.file.getvalue() == ""


def test_an_error_passes_through(store):
    console = Console(file=io.StringIO(), force_terminal=True)
    with pytest.raises(KeyError), watched("columns", "chunks", [Goal((KEYS[0],))], store, "", console):
        raise KeyError("x")
