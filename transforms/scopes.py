"""What expressions mean over a log's columns and a spec's ``let``: programs become nodes.

A name is looked up in ``let`` first and among the raw columns then; ``column("x")`` is always the raw column. So a
``let`` may stand in front of a column, in its own definition too: ``price: fill(price, 0)`` asks for itself, and has to
be written ``fill(column("price"), 0)``. A ``let`` may also be a literal, and is one wherever an operator wants one.
"""

from __future__ import annotations

import graphlib
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

from transforms import operators
from transforms.canonical import canonical_json
from transforms.errors import ExpressionError, OperatorError
from transforms.expressions import parse
from transforms.nodes import Node, raw
from transforms.operators.base import Argument, Literal
from transforms.places import Span, nearest
from transforms.problems import Problems
from transforms.programs import Call, Constant, Program, Reference
from transforms.specs import Expression
from transforms.types import ColumnType

_PYTHON_WORDS = {"true": "True", "false": "False", "none": "None", "null": "None"}


_OPERATORS = frozenset(operators.names())


@dataclass(frozen=True)
class Bound:
    """What an expression means: a node or a literal.

    Attributes:
      argument: the node or literal.
      key: two with the same key are the same.
      varies: whether it reads a column of the log; without one it is the same in all rows.
      learned: whether it depends on a statistic.
    """

    argument: Argument
    key: Hashable
    varies: bool = False
    learned: bool = False

    @classmethod
    def literal(cls, value: bool | int | float | str) -> Bound:
        """A literal, bound."""
        return cls(Literal(value), canonical_json(value))

    @property
    def node(self) -> Node:
        """The node; only where it is one."""
        if not isinstance(self.argument, Node):
            raise TypeError(f"expected a node, got {self.argument!r}")
        return self.argument


class Columns:
    """The raw columns of a log, and all that has been made of them: the same call is made once for all models.

    Args:
      schema: type of each raw column, by name.

    Attributes:
      expressions: what whole expressions mean, by their text and what the names of ``let`` in them mean.
    """

    def __init__(self, schema: Mapping[str, ColumnType]) -> None:
        self.schema = schema
        self._raw: dict[str, Bound] = {}
        self._calls: dict[Hashable, Bound] = {}
        self.expressions: dict[Hashable, Bound] = {}

    def raw(self, name: str) -> Bound:
        """The raw column ``name``, which must be in the schema."""
        bound = self._raw.get(name)
        if bound is None:
            node = raw(name, self.schema[name])
            bound = self._raw[name] = Bound(node, node.identity, varies=True)
        return bound

    def call(self, operator: str, positional: tuple[Bound, ...], named: Mapping[str, Bound] | None = None) -> Bound:
        """An operator applied.

        Raises:
          OperatorError: where there is no such operator, or it does not take these arguments.
        """
        named = named or {}
        key = (operator, tuple([item.key for item in positional]), tuple([(k, item.key) for k, item in named.items()]))
        bound = self._calls.get(key)
        if bound is None:
            node = operators.find(operator).call(
                [item.argument for item in positional], {name: item.argument for name, item in named.items()}
            )
            arguments = (*positional, *named.values())
            bound = self._calls[key] = Bound(
                node,
                node.identity,
                varies=any(item.varies for item in arguments),
                learned=any(item.learned for item in arguments) or any(inner.analyzer for inner in node.inputs),
            )
        return bound


class Scope:
    """What names mean in the expressions of one model.

    Args:
      columns: the log's columns.
      let: the model's named sub-expressions; all of them are bound, whether something uses them or not.
      problems: takes what is wrong with expressions.
      owner: how messages name the model where an expression has no place.
    """

    def __init__(self, columns: Columns, let: Mapping[str, Expression], problems: Problems, owner: str) -> None:
        self._columns = columns
        self._problems = problems
        self._owner = owner
        self._let: dict[str, Bound | None] = {}  # None: wrong, and told where it was wrong
        programs = {name: self._parse(let[name], f"let {name!r}") for name in sorted(let)}
        for name in self._in_order(programs, let):
            program = programs[name]
            self._let[name] = None if program is None else self._run(program, let[name], f"let {name!r}")

    def bind(self, expression: Expression, role: str) -> Bound | None:
        """What ``expression`` means, or None where it is wrong; what is wrong goes to the problems, as ``role``'s."""
        program = self._parse(expression, role)
        return None if program is None else self._run(program, expression, role)

    def call(
        self, operator: str, arguments: tuple[Bound, ...], expression: Expression, role: str, **named: Bound
    ) -> Bound | None:
        """An operator that the spec does not spell out, applied to what ``expression`` means."""
        try:
            return self._columns.call(operator, arguments, named)
        except OperatorError as error:
            self.refuse(expression, role, str(error))
            return None

    def refuse(self, expression: Expression, role: str, message: str, span: Span | None = None) -> None:
        """Notes that ``expression`` is wrong."""
        if expression.place is None:
            role = f"model {self._owner!r}, {role}"
        # Blanks around an expression are no part of it, but a line break before it counts as one.
        text = expression.text.strip()
        if span is None:
            span = Span(0, 0, len(text))
        before = expression.text[: len(expression.text) - len(expression.text.lstrip())].count("\n")
        place = None if expression.place is None else expression.place.down(before)
        self._problems.add_in_text(place, f"{role}: {message}", text, span)

    def _parse(self, expression: Expression, role: str) -> Program | None:
        try:
            return parse(expression.text)
        except ExpressionError as error:
            self.refuse(expression, role, str(error), error.span)
            return None

    def _in_order(self, programs: Mapping[str, Program | None], let: Mapping[str, Expression]) -> Iterator[str]:
        """The names of ``programs``, each after those that it uses; those that use themselves are told and left out."""
        uses = {
            name: [other for other in program.names if other in let] if program else []
            for name, program in programs.items()
        }
        while True:
            try:
                yield from list(graphlib.TopologicalSorter(uses).static_order())
                return
            except graphlib.CycleError as error:
                cycle: list[str] = error.args[1][:0:-1]  # from user to used, without the repeated end
                start = cycle.index(min(cycle))
                cycle = cycle[start:] + cycle[:start]
                self._refuse_cycle(cycle, let)
                for name in cycle:
                    self._let[name] = None
                    del uses[name]
                uses = {name: [other for other in used if other in uses] for name, used in uses.items()}

    def _refuse_cycle(self, cycle: list[str], let: Mapping[str, Expression]) -> None:
        shown = " → ".join([*cycle, cycle[0]])
        columns = [name for name in cycle if name in self._columns.schema]
        hint = f"; the raw column is written column({columns[0]!r})" if columns else ""
        self.refuse(let[cycle[0]], f"let {cycle[0]!r}", f"is defined by itself: {shown}{hint}")

    def _run(self, program: Program, expression: Expression, role: str) -> Bound | None:
        let = [(name, self._let[name]) for name in program.names if name in self._let]
        known = self._columns.expressions
        key = (program.text, tuple([(name, None if bound is None else bound.key) for name, bound in let]))
        if key not in known:
            result = self._value(program, expression, role)
            if result is None:
                return None
            known[key] = result
        return known[key]

    def _value(self, program: Program, expression: Expression, role: str) -> Bound | None:
        values: list[Bound | None] = []
        for step in program.steps:
            if isinstance(step, Constant):
                values.append(Bound(Literal(step.value), step.key))
            elif isinstance(step, Reference):
                values.append(self._look_up(step, expression, role))
            else:
                values.append(self._apply(step, values, expression, role, program))
        return values[-1]

    def _look_up(self, step: Reference, expression: Expression, role: str) -> Bound | None:
        if not step.raw and step.name in self._let:
            return self._let[step.name]
        if step.name in self._columns.schema:
            return self._columns.raw(step.name)
        known = set(self._columns.schema) if step.raw else {*self._columns.schema, *self._let}
        hint = nearest(step.name, known)
        if step.name.lower() in _PYTHON_WORDS:
            hint = f" (did you mean {_PYTHON_WORDS[step.name.lower()]}?)"
        elif not hint and step.name in _OPERATORS:
            hint = f" ({step.name} is an operator: {step.name}(…))"
        elif not hint:
            hint = f"; there are {_listed(known)}"
        self.refuse(expression, role, f"unknown column {step.name!r}{hint}", step.span)
        return None

    def _apply(
        self, step: Call, values: list[Bound | None], expression: Expression, role: str, program: Program
    ) -> Bound | None:
        positional = tuple(item for index in step.positional if (item := values[index]) is not None)
        named = {name: item for name, index in step.named if (item := values[index]) is not None}
        if step.operator not in _OPERATORS:
            hint = nearest(step.operator, _OPERATORS)
            if step.operator in self._let or step.operator in self._columns.schema:
                hint = f"; {step.operator} is a column, and columns are not called"
            self.refuse(expression, role, f"unknown operator {step.operator!r}{hint}", step.name_span)
            return None
        if len(positional) + len(named) < len(step.positional) + len(step.named):
            return None  # an argument is wrong, and that has been told
        try:
            return self._columns.call(step.operator, positional, named)
        except OperatorError as error:
            arguments = [*step.positional, *(index for _, index in step.named)]
            at_fault = error.argument is not None and error.argument < len(arguments)
            span = program.steps[arguments[error.argument or 0]].span if at_fault else step.span
            self.refuse(expression, role, str(error), span)
            return None


def _listed(names: set[str], most: int = 20) -> str:
    shown = sorted(names)[:most]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(shown) + more) if shown else "none"
