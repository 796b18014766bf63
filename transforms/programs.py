"""What an expression says, once it has been read.

A program is a flat list of steps, each of which names the earlier steps that are its arguments; so however long or deep
an expression is, nothing that works on it needs recursion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from transforms.canonical import Value
from transforms.places import Span


@dataclass(frozen=True)
class Reference:
    """A name: of a ``let`` or a raw column, or with ``raw`` (written ``column("…")``) of a raw column only."""

    name: str
    raw: bool
    span: Span


@dataclass(frozen=True)
class Constant:
    """A literal; ``key`` is its canonical form, in which ``1``, ``1.0`` and ``True`` differ."""

    value: Value
    key: str
    span: Span


@dataclass(frozen=True)
class Call:
    """An operator applied to earlier steps, by their indices; ``name_span`` is where its name or sign stands."""

    operator: str
    positional: tuple[int, ...]
    named: tuple[tuple[str, int], ...]
    span: Span
    name_span: Span


Step: TypeAlias = "Reference | Constant | Call"


@dataclass(frozen=True)
class Program:
    """An expression that has been read.

    Attributes:
      text: the expression, without blanks around it.
      steps: what it does, arguments before what uses them; the last step's value is the expression's.
      names: the names in it that are not ``column("…")``, sorted.
    """

    text: str
    steps: tuple[Step, ...]
    names: tuple[str, ...]
