"""From YAML trees to the dataclasses of `transforms.specs`, for any of them: what is wrong is told with its place.

Which keys there are, and what they become, is said by the caller (`transforms.spec_files`) in tables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import ValidationError

from transforms.places import Place, nearest
from transforms.problems import Problems
from transforms.specs import Expression
from transforms.yaml_tree import Entry, ListTree, MapTree, ScalarTree, Tree, describe

INVALID = object()
"""Stands for a value that is wrong, after the problem has been noted."""

Reader: TypeAlias = Callable[["TreeReader", Tree, str], Any]
"""Makes a value of a tree, or `INVALID`; the text says to messages what the tree is."""


@dataclass(frozen=True)
class Kind:
    """A class of specs and how its keys are written.

    Attributes:
      cls: the class.
      keys: what reads each key; a key is also the field's name.
      main: the key that is meant where one value stands in place of a map.
      placed: whether the class keeps where it was written.
      read_before: keys that are valid where the class is written and were read by another.
    """

    cls: type
    keys: Mapping[str, Reader]
    main: str | None = None
    placed: bool = False
    read_before: tuple[str, ...] = ()


class TreeReader:
    """Makes specs of trees.

    Args:
      problems: takes what is wrong.
    """

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self._made: dict[Tree, Any] = {}

    def make(self, kind: Kind, tree: Tree, what: str) -> Any:
        """An instance of ``kind`` or `INVALID`.

        Args:
          kind: what to make.
          tree: its values.
          what: what it is, for messages.
        """
        if not isinstance(tree, MapTree) and kind.main is not None:
            return self.make(kind, MapTree(tree.place, {kind.main: Entry(tree.place, tree)}), what)
        if not isinstance(tree, MapTree):
            self.problems.add(tree.place, f"{what}: expected a map with {_words(kind.keys)}, found {describe(tree)}")
            return INVALID
        self.check_keys(tree, (*kind.keys, *kind.read_before), what)
        fields: dict[str, Any] = {}
        wrong: set[str] = set()
        for key, reader in kind.keys.items():
            if key in tree.entries and not _is_null(tree.entries[key].value):
                fields[key] = reader(self, tree.entries[key].value, f"{what}: {key}" if what else key)
                if fields[key] is INVALID:
                    wrong.add(key)
                    del fields[key]
        if kind.placed:
            fields["place"] = tree.place
        return self._construct(kind.cls, fields, wrong, tree, what)

    def make_once(self, make: Callable[[], Any], tree: Tree) -> Any:
        """What ``make`` makes of ``tree``, made once however many models share the tree."""
        if tree not in self._made:
            self._made[tree] = make()
        return self._made[tree]

    def choose(self, kinds: Mapping[str, Kind], tree: Tree, what: str) -> Any:
        """One of several kinds, written ``name`` or ``{name: …}``."""
        if isinstance(tree, ScalarTree):
            name, place = tree.text, tree.place
            inner: Tree = MapTree(tree.place, {})
        elif isinstance(tree, MapTree) and len(tree.entries) == 1:
            ((name, entry),) = tree.entries.items()
            place = entry.place
            inner = MapTree(place, {}) if _is_null(entry.value) else entry.value
        else:
            self.problems.add(tree.place, f"{what}: expected one of {_words(kinds)}, found {describe(tree)}")
            return INVALID
        if name not in kinds:
            hint = nearest(name, kinds)
            self.problems.add(place, f"{what}: expected one of {_words(kinds)}, found {name!r}{hint}")
            return INVALID
        return self.make(kinds[name], inner, f"{what}: {name}")

    def named(self, tree: Tree, what: str, read: Callable[[str, Tree], Any]) -> Any:
        """A map of names to what ``read`` makes of their values; values that are wrong are left out."""
        if not isinstance(tree, MapTree):
            self.problems.add(tree.place, f"{what}: expected a map of names to values, found {describe(tree)}")
            return INVALID
        values = {name: read(name, entry.value) for name, entry in tree.entries.items()}
        return {name: value for name, value in values.items() if value is not INVALID}

    def check_keys(self, tree: MapTree, known: Collection[str], what: str) -> None:
        """Notes the keys of ``tree`` that are not among the known."""
        for key, entry in tree.entries.items():
            if key in known:
                continue
            hint = nearest(key, known) or f"; expected {_words(known)}"
            if tree.flow and _is_null(entry.value):
                hint = "; an expression with commas inside { } has to be quoted"
            prefix = f"{what}: " if what else ""
            self.problems.add(entry.place, f"{prefix}unknown key {key!r}{hint}")

    def _construct(self, cls: type, fields: Mapping[str, Any], wrong: set[str], tree: MapTree, what: str) -> Any:
        try:
            made = cls(**fields)
        except ValidationError as error:
            by_key: dict[str, list[Any]] = {}  # a value that fits none of several types is told for each of them
            for item in error.errors(include_url=False):
                loc = item["loc"]
                within = len(loc) > 1 and (isinstance(loc[1], int) or loc[-1] == "[key]")
                by_key.setdefault(str(loc[: 2 if within else 1]), []).append(item)
            for items in by_key.values():
                if items[0]["loc"][0] not in wrong:
                    self._tell(items, tree, f"{what}: " if what else "")
            return INVALID
        return INVALID if wrong else made

    def _tell(self, items: list[Any], tree: MapTree, prefix: str) -> None:
        path, found = items[0]["loc"], items[0]["input"]
        if items[0]["type"] in ("missing", "missing_argument"):
            self.problems.add(tree.place, f"{prefix}lacks the key {path[0]!r}")
            return
        expected = " or ".join(dict.fromkeys(_expected(item) for item in items))
        hint = nearest(found, _literals(items[0])) if isinstance(found, str) else ""
        self.problems.add(_place_of(tree, path), f"{prefix}{path[0]}: expected {expected}, found {found!r}{hint}")


def value(reader: TreeReader, tree: Tree, what: str) -> Any:
    """A number, text, true or false, or a list of such."""
    items = tree.items if isinstance(tree, ListTree) else (tree,)
    for item in items:
        if not isinstance(item, ScalarTree):
            reader.problems.add(item.place, f"{what}: expected a value or a list of values, found {describe(item)}")
            return INVALID
    values = tuple(item.value for item in items if isinstance(item, ScalarTree))
    return values if isinstance(tree, ListTree) else values[0]


def expression(reader: TreeReader, tree: Tree, what: str) -> Any:
    """An expression; numbers and booleans are expressions too."""
    if isinstance(tree, ScalarTree) and tree.value is not None:
        return Expression(str(tree.value) if isinstance(tree.value, bool) else tree.text, tree.place)
    hint = "" if isinstance(tree, ScalarTree) else "; one that begins with [ or { has to be quoted"
    reader.problems.add(tree.place, f"{what}: expected an expression, found {describe(tree)}{hint}")
    return INVALID


_EXPECTED = {
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "finite_number": "a finite number",
}


def _expected(error: Mapping[str, Any]) -> str:
    context = error.get("ctx", {})
    if error["type"] in _EXPECTED:
        return _EXPECTED[error["type"]]
    if error["type"] == "literal_error":
        return str(context["expected"])
    if error["type"] == "string_pattern_mismatch":
        return 'a slice of chunks like "6:" or ":-2"' if ":" in context["pattern"] else _NAME
    if error["type"] == "string_too_short":
        return "text that is not empty"
    if error["type"] == "string_too_long":
        return f"at most {context['max_length']} characters"
    return str(error["msg"]).removeprefix("Input should be ")


_NAME = "a name of letters a-z, digits and _ that does not begin with a digit"


def _literals(error: Mapping[str, Any]) -> list[str]:
    return str(error.get("ctx", {}).get("expected", "")).replace(" or ", ", ").replace("'", "").split(", ")


def _place_of(tree: MapTree, path: tuple[Any, ...]) -> Place:
    """The place of the value that ``path`` leads to, or of the nearest thing above it."""
    place = tree.place
    current: Tree = tree
    for step in path:
        if isinstance(current, MapTree) and step in current.entries:
            place, current = current.entries[step].place, current.entries[step].value
        elif isinstance(current, ListTree) and isinstance(step, int) and step < len(current.items):
            current = current.items[step]
            place = current.place
        else:
            break
    return place


def _words(names: Collection[str]) -> str:
    return ", ".join(names)


def _is_null(tree: Tree) -> bool:
    return isinstance(tree, ScalarTree) and tree.value is None
