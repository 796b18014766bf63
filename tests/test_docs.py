"""What the pages say that can be compared with the code, and where their links go."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commands import ROOT
from transforms import operators

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")])


def test_page_lists_every_operator_as_it_is_called() -> None:
    page = (ROOT / "docs" / "transforms.md").read_text(encoding="utf-8")
    section = page.partition("\n## Operators\n")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `([^`]+)`[^|]*\| (.*) \|$", section, re.MULTILINE))
    found = {name: operators.find(name) for name in operators.names()}
    expected = {
        operator.signature: str(type(operator).__doc__).strip().partition("\n")[0] for operator in found.values()
    }
    assert rows == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_go_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
