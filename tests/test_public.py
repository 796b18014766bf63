"""The Python interface: what each room's ``__init__`` names, and the page that uses it."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT, run

ROOMS = ("transforms", "materialized", "pipelines", "trainer")
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("room", ROOMS)
def test_what_a_room_names_is_where_it_says(room: str) -> None:
    """Type checkers read the imports, Python the table: both have the names in ``__all__``."""
    module = importlib.import_module(room)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module != "typing"]
    typed = {alias.name: node.module for node in imports for alias in node.names if alias.name != "names_of"}
    typed.pop("annotations")
    assert sorted(typed) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is getattr(importlib.import_module(str(typed[name])), name)
        assert name in dir(module)
        assert getattr(module, name).__doc__
        assert not (ROOT / room / name).is_dir()
        assert not (ROOT / room / f"{name}.py").exists(), f"{room}.{name} would be a module, or what it is named after"
    with pytest.raises(AttributeError, match=f"module '{room}' has no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize("room", ROOMS)
def test_the_page_lists_what_a_room_names(room: str) -> None:
    (row,) = re.findall(rf"^\| `{room}` \| (.*) \|$", PAGE, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", row)) == sorted(importlib.import_module(room).__all__)


def test_importing_the_rooms_imports_nothing_else() -> None:
    script = (
        f"import sys\nimport {', '.join(ROOMS)}\n"
        "heavy = ('tensorflow', 'apache_beam', 'keras', 'pyarrow', 'pydantic', 'networkx')\n"
        "print([name for name in sys.modules if name in heavy or name.partition('.')[0] in "
        f"{ROOMS} and name not in {(*ROOMS, 'transforms.public')}])"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "page.py").write_text(code, encoding="utf-8")
    said = run([sys.executable, "page.py"], directory=tmp_path).splitlines()
    # Two models' columns: the token ids and the label are shared, the price is the second's alone.
    assert said[:2] == ["3 of 5 to compute", "0 of 5 to compute"]
    assert set(said[2:-2]) >= {"['price', 'query'] (64,)"}
    trained, held_out = (int(number) for number in re.findall(r"\d+", said[-2]))
    assert trained + held_out == 400
    assert 50 < held_out < 150
    assert said[-1] == "differing outputs: 0"
