"""How models, columns, shares and chunks are worded, the same in tables and on the page."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from transforms.nodes import CONSTANT, Node


def percent(rate: float) -> str:
    """``78.6 %``; 100 only for all, 0 only for nothing."""
    if rate in (0.0, 1.0):
        return f"{rate:.0%}".replace("%", " %")
    return f"{min(max(100 * rate, 0.1), 99.9):.1f} %"


def role_name(role: str) -> str:
    """A feature's own name, or what else the role is: ``fare``, ``label``."""
    return role.removeprefix("feature.")


def roles_of(labels: Iterable[str]) -> str:
    """What a column is called in its models, each name once: ``fare, price``."""
    return ", ".join(sorted({role_name(label.partition(".")[2]) for label in labels}))


def models_of(labels: Iterable[str]) -> tuple[str, ...]:
    """The models that ask for a column, sorted."""
    return tuple(sorted({label.partition(".")[0] for label in labels}))


def which_models(models: Sequence[str], all_models: Collection[str], most: int = 3) -> str:
    """``all 5 models``, or their names: ``tip, tip_any``, or ``tip, tip_any, tip_card and 4 more``."""
    if len(models) == len(all_models) and len(models) > 1:
        return f"all {len(models)} models"
    return listing(models, most) if models else "no model"


def listing(names: Sequence[str], most: int) -> str:
    """The first ``most`` names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def count(number: int, noun: str) -> str:
    """``1 chunk``, ``2,000 chunks``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def settings(node: Node) -> str:
    """What an operator is applied with besides columns: literals and parameters, ``0, n=20``."""
    literals = [repr(inner.parameters["value"]) for inner in node.inputs if inner.operator == CONSTANT]
    return ", ".join([*literals, *(f"{name}={value!r}" for name, value in sorted(node.parameters.items()))])


def cut(text: str, characters: int) -> str:
    """``text`` in at most ``characters``."""
    return text if len(text) <= characters else text[: characters - 1] + "…"
