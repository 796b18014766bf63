"""YAML files as trees that know where each key and value was written.

Scalars follow YAML 1.2: only ``true`` and ``false`` are booleans and only ``null``, ``~`` and nothing are null, so that
``on``, ``off``, ``yes`` and ``no`` are words; ``1_000`` and ``1e-3`` are numbers; dates are text. Keys are always text.
A key that occurs twice in a map is a mistake. What the trees mean is `transforms.spec_files`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import yaml

from transforms.places import Place
from transforms.problems import Problems

Scalar: TypeAlias = "bool | int | float | str | None"

MAX_DEPTH = 20
"""Levels of maps and lists in a file; specs need five."""


@dataclass(frozen=True, eq=False)
class ScalarTree:
    """One value: as written, and as YAML 1.2 reads it."""

    place: Place
    text: str
    value: Scalar


@dataclass(frozen=True, eq=False)
class ListTree:
    """A list."""

    place: Place
    items: tuple[Tree, ...]


@dataclass(frozen=True, eq=False)
class Entry:
    """A value of a map and where its key was written."""

    place: Place
    value: Tree


@dataclass(frozen=True, eq=False)
class MapTree:
    """A map; ``flow`` says that it was written with braces."""

    place: Place
    entries: Mapping[str, Entry]
    flow: bool = False


Tree: TypeAlias = "ScalarTree | ListTree | MapTree"


def describe(tree: Tree) -> str:
    """``tree`` in an error message, after "found"."""
    if isinstance(tree, MapTree):
        return "a map"
    if isinstance(tree, ListTree):
        return "a list"
    return "nothing" if tree.value is None else repr(tree.value)


def read_map(path: Path, name: str, problems: Problems) -> MapTree | None:
    """The map that the file at ``path`` holds.

    Args:
      path: the file.
      name: what messages call the file.
      problems: takes what is wrong with it.

    Returns:
      The map, or None where the file has none.
    """
    start = Place(name, 1)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        problems.add(None, f"{name}: expected a YAML file: {error.strerror or error}")
        return None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        problems.add(Place(name, line), f"expected UTF-8 text, found the byte 0x{error.object[error.start]:02x}")
        return None
    try:
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        place = _mark(name, error.problem_mark or error.context_mark)
        problems.add(place, _syntax_message(error, text.splitlines()[place.line - 1 : place.line]))
        return None
    except yaml.YAMLError as error:
        problems.add(start, f"not YAML: {error}")
        return None
    if root is None:
        problems.add(start, "expected a map of keys to values, found an empty file")
        return None
    tree = _Builder(name, problems).build(root, 0)
    if tree is not None and not isinstance(tree, MapTree):
        problems.add(tree.place, f"expected a map of keys to values, found {describe(tree)}")
    return tree if isinstance(tree, MapTree) else None


class _Builder:
    """Makes trees of the nodes that the YAML parser composed."""

    def __init__(self, file: str, problems: Problems) -> None:
        self._file = file
        self._problems = problems
        self._done: dict[int, Tree | None] = {}  # an alias is the anchor's own node, and becomes the anchor's own tree

    def build(self, node: yaml.Node, depth: int) -> Tree | None:
        """The tree of ``node``, or None where it has a mistake of its own."""
        if id(node) not in self._done:
            if depth > MAX_DEPTH:  # also ends an anchor that contains itself
                self._problems.add(self._place(node), f"nested deeper than {MAX_DEPTH} levels")
                return None
            self._done[id(node)] = self._build(node, depth)
        return self._done[id(node)]

    def _build(self, node: yaml.Node, depth: int) -> Tree | None:
        place = self._place(node)
        if not node.tag.startswith("tag:yaml.org,2002:") or "python" in node.tag:
            self._problems.add(place, f"YAML tags are not supported, found {node.tag!r}")
            return None
        if isinstance(node, yaml.ScalarNode):
            if node.style in ("|", ">"):  # the text begins on the line after the indicator
                place = Place(place.file, place.line + 1)
            return ScalarTree(place, node.value, node.value if node.style else scalar_value(node.value))
        if isinstance(node, yaml.SequenceNode):
            items = [self.build(item, depth + 1) for item in node.value]
            return ListTree(place, tuple(item for item in items if item is not None))
        if isinstance(node, yaml.MappingNode):
            return MapTree(place, self._entries(node, depth), bool(node.flow_style))
        raise TypeError(f"the YAML parser made a {type(node).__name__}")

    def _entries(self, node: yaml.MappingNode, depth: int) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        for key, item in node.value:
            place = self._place(key)
            if not isinstance(key, yaml.ScalarNode):
                self._problems.add(place, "expected a name before the colon, found a list or map; quote brackets")
                continue
            value = self.build(item, depth + 1)
            if key.tag == "tag:yaml.org,2002:merge":
                for source in value.items if isinstance(value, ListTree) else (value,):
                    if not isinstance(source, MapTree):
                        self._problems.add(place, "`<<` expects a map or a list of maps")
                    else:
                        merged = {**source.entries, **merged}
            elif key.value in entries:
                first = entries[key.value].place.line
                self._problems.add(place, f"the key {key.value!r} is given twice; first in line {first}")
            elif value is not None:
                entries[key.value] = Entry(place, value)
        return {**merged, **entries}

    def _place(self, node: yaml.Node) -> Place:
        return _mark(self._file, node.start_mark)


_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?(0|[1-9](_?[0-9]){0,39})")
_FLOAT = re.compile(r"[-+]?([0-9](_?[0-9])*(\.([0-9](_?[0-9])*)?)?|\.[0-9](_?[0-9])*)([eE][-+]?[0-9]{1,6})?")
_SPECIAL = re.compile(r"([-+]?)\.(inf|Inf|INF|nan|NaN|NAN)")


def scalar_value(text: str) -> Scalar:
    """The value of a scalar that was written without quotes."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.fullmatch(text):
        return int(text)
    # An integer that is no integer above (007, or longer than any number) is an identifier of some sort: text.
    if _FLOAT.fullmatch(text) and not text.lstrip("+-").replace("_", "").isdigit():
        return float(text)
    if special := _SPECIAL.fullmatch(text):
        return float(special[1] + special[2])
    return text


def _mark(file: str, mark: yaml.Mark | None) -> Place:
    return Place(file, 1) if mark is None else Place(file, mark.line + 1, mark.column + 1)


_HINTS = {
    "cannot start any token": "text that begins with a character that YAML itself uses has to be quoted",
    "alias": "an expression that begins with * or & has to be quoted",
    "mapping values are not allowed": "text that contains ': ' has to be quoted",
    "unexpected ':'": "text that contains a colon has to be quoted",
    "expected ',' or": "an expression with commas or brackets inside { } or [ ] has to be quoted",
    "single document": "a file holds one document",
}


def _syntax_message(error: yaml.MarkedYAMLError, line: list[str]) -> str:
    message = " ".join(part for part in (error.context, error.problem) if part)
    hints = [hint for found, hint in _HINTS.items() if found in message]
    if any("\t" in text[: len(text) - len(text.lstrip())] for text in line):
        hints = ["YAML is indented with spaces, not with tabs"]
    return f"not YAML: {message}" + (f" ({hints[0]})" if hints else "")
