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
    """

    cls: type
    keys: Mapping[str, Reader]
    main: str | None = None


class TreeReader:
    """Makes specs of trees.

    Args:
      problems: takes what is wrong.
    """

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self._made: dict[Tree, Any] = {}

    def make(self, kind: Kind, tree: Tree, what: str, place_field: bool = False, **more: Any) -> Any:
        """An instance of ``kind`` or `INVALID`.

        Args:
          kind: what to make.
          tree: its values.
          what: what it is, for messages.
          place_field: whether to note where it was written.
          more: further fields.
        """
        if not isinstance(tree, MapTree) and kind.main is not None:
            tree = MapTree(tree.place, {kind.main: Entry(tree.place, tree)})
        if not isinstance(tree, MapTree):
            self.problems.add(tree.place, f"{what}: expected a map with {_words(kind.keys)}, found {describe(tree)}")
            return INVALID
        self.check_keys(tree, kind.keys, what)
        fields, wrong = dict(more), set()
        for key, reader in kind.keys.items():
            if key in tree.entries and not _is_null(tree.entries[key].value):
                fields[key] = reader(self, tree.entries[key].value, f"{what}: {key}" if what else key)
                if fields[key] is INVALID:
                    wrong.add(key)
                    del fields[key]
        if place_field:
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
            name, place, inner = tree.text, tree.place, MapTree(tree.place, {})
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
        prefix = f"{what}: " if what else ""
        try:
            made = cls(**fields)
        except ValidationError as error:
            by_field: dict[tuple[Any, ...], list[Any]] = {}
            for item in error.errors(include_url=False):
                key = item["loc"][:1] if item["type"] != "string_pattern_mismatch" else item["loc"][:2]
                by_field.setdefault(key, []).append(item)
            for loc, items in by_field.items():
                key = str(loc[0])
                if key in wrong:
                    continue
                if items[0]["type"] in ("missing", "missing_argument"):
                    self.problems.add(tree.place, f"{prefix}lacks the key {key!r}")
                    continue
                path = items[0]["loc"]
                expected = " or ".join(dict.fromkeys(_expected(item) for item in items))
                found = items[0]["input"]
                hint = nearest(found, _literals(items[0])) if isinstance(found, str) else ""
                place = _place_of(tree, path)
                self.problems.add(place, f"{prefix}{key}: expected {expected}, found {found!r}{hint}")
            return INVALID
        return INVALID if wrong else made


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

_PATTERNS = {":": 'a slice of chunks like "6:" or ":-2"'}


def _expected(error: Mapping[str, Any]) -> str:
    context = error.get("ctx", {})
    if error["type"] in _EXPECTED:
        return _EXPECTED[error["type"]]
    if error["type"] == "literal_error":
        return str(context["expected"])
    if error["type"] == "string_pattern_mismatch":
        return 'a slice of chunks like "6:" or ":-2"' if ":" in context["pattern"] else _NAME
    if error["type"] == "string_too_long":
        return f"at most {context['max_length']} characters"
    words: str = error["msg"]
    return words.removeprefix("Input should be ").replace("greater than", "a number greater than", 1)


_NAME = "a name of letters a-z, digits and _ that does not begin with a digit"


def _literals(error: Mapping[str, Any]) -> list[str]:
    return str(error.get("ctx", {}).get("expected", "")).replace(" or ", ", ").replace("'", "").split(", ")


def _place_of(tree: MapTree, path: tuple[Any, ...]) -> Place:
    """The place of the value that ``path`` leads to, or of the nearest thing above it."""
    place, at = tree.place, None
    current: Tree = tree
    for step in path:
        if isinstance(current, MapTree) and step in current.entries:
            at = current.entries[step]
            place, current = at.place, at.value
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
