"""Model files and what they include, merged into one tree.

``include: [common.yaml]`` names files relative to the file that says so; none may lie outside of the root. What a file
says wins over what it includes, and a later include over an earlier one: name by name inside of ``let``, ``features``,
``tables`` and ``train``, as a whole everywhere else. ``name: null`` drops what an included file has defined.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from transforms.places import Place, nearest
from transforms.problems import Problems
from transforms.yaml_tree import Entry, ListTree, MapTree, ScalarTree, Tree, describe, read_map

MERGED = ("let", "features", "tables", "train")
"""The keys whose maps are merged name by name."""

_OPTIONAL = ("train",)  # here null may also stand where nothing is dropped: it says that the default is meant


class IncludedFiles:
    """Files that have been read, each once however many models include it.

    Args:
      problems: takes what is wrong with them.
    """

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._read: dict[Path, MapTree | None] = {}
        self._merged: dict[tuple[Path, Path], MapTree | None] = {}

    def load(self, name: str, root: Path) -> MapTree | None:
        """The tree of the file called ``name``, with all that it includes; None where it cannot be read.

        Args:
          name: path of the file, and what messages call it.
          root: directory that includes have to lie in.
        """
        return self._load(Path(name).resolve(), name, root.resolve(), ())

    def _load(self, path: Path, name: str, root: Path, chain: tuple[tuple[Path, str], ...]) -> MapTree | None:
        key = (path, root)
        if key not in self._merged:
            if path not in self._read:
                self._read[path] = read_map(path, name, self._problems)
            tree = self._read[path]
            self._merged[key] = None if tree is None else self._with_includes(tree, path, name, root, chain)
        return self._merged[key]

    def _with_includes(
        self, tree: MapTree, path: Path, name: str, root: Path, chain: tuple[tuple[Path, str], ...]
    ) -> MapTree | None:
        chain = (*chain, (path, name))
        base: dict[str, Entry] = {}
        includes, whole = self._includes(tree)
        for place, text in includes:
            included = (path.parent / text).resolve()
            included_name = os.path.normpath(os.path.join(os.path.dirname(name), text))
            if self._may_include(included, included_name, text, place, root, chain):
                more = self._load(included, included_name, root, chain)
                base = {} if more is None else self._over(base, more.entries)
                whole = whole and more is not None
            else:
                whole = False
        if not whole:
            return None  # what is lacking now may have been in the file that could not be included
        return MapTree(tree.place, self._over(base, tree.entries), tree.flow)

    def _may_include(
        self, path: Path, name: str, text: str, place: Place, root: Path, chain: tuple[tuple[Path, str], ...]
    ) -> bool:
        steps = [step for step, _ in chain]
        problem = ""
        if not path.is_relative_to(root):
            problem = f"{text!r} lies outside of {os.path.relpath(root)}"
        elif path in steps:
            circle = [*(shown for _, shown in chain[steps.index(path) :]), name]
            problem = f"a file includes itself: {' → '.join(circle)}"
        elif not path.is_file():
            problem = f"there is no file {name}"
        if problem:
            self._problems.add(place, f"include: {problem}")
        return not problem

    def _includes(self, tree: MapTree) -> tuple[list[tuple[Place, str]], bool]:
        """The files that ``tree`` includes, and whether these are all that it wants to include."""
        entry = tree.entries.get("include")
        if entry is None:
            return [], True
        found: list[tuple[Place, str]] = []
        whole = True
        for item in entry.value.items if isinstance(entry.value, ListTree) else (entry.value,):
            if isinstance(item, ScalarTree) and isinstance(item.value, str) and item.value and "\0" not in item.value:
                found.append((item.place, item.value))
            else:
                self._problems.add(item.place, f"include: expected a list of file names, found {describe(item)}")
                whole = False
        return found, whole

    def _over(self, base: dict[str, Entry], top: Mapping[str, Entry]) -> dict[str, Entry]:
        """``base`` with what ``top`` adds, replaces and drops."""
        merged = dict(base)
        for key, entry in top.items():
            if key == "include":
                continue
            if key in MERGED and isinstance(entry.value, MapTree):
                under = base[key].value if key in base else None
                entries = under.entries if isinstance(under, MapTree) else {}
                merged[key] = Entry(entry.place, self._section(key, entries, entry.value))
            elif _is_null(entry.value):
                merged.pop(key, None)
            else:
                merged[key] = entry
        return merged

    def _section(self, key: str, base: Mapping[str, Entry], top: MapTree) -> MapTree:
        merged = dict(base)
        for name, entry in top.entries.items():
            if not _is_null(entry.value):
                merged[name] = entry
            elif name in merged:
                del merged[name]
            elif key not in _OPTIONAL:
                split = top.flow and isinstance(entry.value, ScalarTree) and not entry.value.text
                comma = "; an expression with commas inside { } has to be quoted" if split else ""
                hint = nearest(name, base) or f"; no included file defines it{comma}"
                self._problems.add(entry.place, f"{key}: {name!r} has no value, and there is nothing to drop{hint}")
        return MapTree(top.place, merged, top.flow)


def _is_null(tree: Tree) -> bool:
    return isinstance(tree, ScalarTree) and tree.value is None
