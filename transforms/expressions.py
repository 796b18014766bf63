"""Reads expressions: the text that people write becomes a program of operator calls.

The syntax is a part of Python's (`transforms.syntax`), read with `ast` and never evaluated. What the names mean, and
whether an operator takes what it is given, is settled in `transforms.scopes`.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from transforms.canonical import Value, canonical_json
from transforms.errors import ExpressionError
from transforms.places import Span
from transforms.programs import Call, Constant, Program, Reference, Step
from transforms.syntax import BINARY, COMPARE, LOGICAL, UNARY, UNSUPPORTED

MAX_DEPTH = 100
"""Levels of nesting in one expression: Python's own parser ends soon after, and no reader gets as far."""

MAX_LENGTH = 1_000_000
"""Characters of one expression."""


@lru_cache(maxsize=1 << 16)
def parse(text: str) -> Program:
    """Reads an expression.

    Raises:
      ExpressionError: where it is no expression, or one with syntax that is not supported.
    """
    text = text.strip()
    if not text:
        raise ExpressionError("the expression is empty")
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"an expression has at most {MAX_LENGTH} characters, found {len(text)}", Span(0, 0, 1))
    reader = _Reader(text)
    try:
        reader.read(_syntax_tree(text), 0)
    except (RecursionError, MemoryError) as error:  # ast.parse's own limit, which depends on the stack above us
        raise ExpressionError(_TOO_DEEP) from error
    steps = tuple(reader.steps)
    names = {step.name for step in steps if isinstance(step, Reference) and not step.raw}
    return Program(text, steps, tuple(sorted(names)))


_TOO_DEEP = f"nested too deep (at most {MAX_DEPTH} levels); give parts of it names in `let`"

_ONE_LINE = str.maketrans("\r\n", "  ")


def _syntax_tree(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # Python only warns of some slips, '\d' in a string for one
            # An expression may go on in the next line without brackets around it; Python's may not.
            tree = ast.parse(text.translate(_ONE_LINE), mode="eval").body
    except SyntaxError as error:
        if "nested parentheses" in (error.msg or ""):
            raise ExpressionError(_TOO_DEEP) from error
        if "integer string conversion" in (error.msg or ""):
            raise ExpressionError("an integer of so many digits fits neither int64 nor uint64") from error
        if not error.offset:  # Python has no place for what it misses at the end
            span = _span_in(text, len(text), len(text) + 1)
            raise ExpressionError("not an expression: something is missing at its end", span) from error
        start = error.offset - 1
        span = _span_in(text, start, max(start + 1, (error.end_offset or 0) - 1))
        raise ExpressionError(f"not an expression: {error.msg}", span) from error
    except ValueError as error:  # a null byte
        raise ExpressionError(f"not an expression: {error}") from error
    rest = text.encode()[tree.end_col_offset :].decode(errors="replace")
    if "#" in rest:  # in one line it would hide what stood in the lines after it
        start = len(text) - len(rest) + rest.index("#")
        raise ExpressionError("a comment inside an expression is not supported", _span_in(text, start, len(text)))
    return tree


def _span_in(text: str, start: int, end: int) -> Span:
    """The span of characters ``start`` to ``end`` of ``text``, as far as they are in one line."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start, end)
    return Span(text.count("\n", 0, start), start - line_start, (end if line_end < 0 else line_end) - line_start)


class _Reader:
    """Turns a syntax tree into steps."""

    def __init__(self, text: str) -> None:
        self.steps: list[Step] = []
        self._text = text
        self._bytes = None if text.isascii() else text.encode()
        self._readers: dict[type[ast.AST], Callable[[Any, int], int]] = {
            ast.Name: self._name,
            ast.Call: self._call,
            ast.UnaryOp: self._unary,
            ast.BinOp: self._binary,
            ast.BoolOp: self._logical,
            ast.Compare: self._compare,
            ast.IfExp: self._if_else,
        }

    def read(self, node: ast.expr, depth: int) -> int:
        """Appends the steps of ``node``; returns the index of the one whose value is the node's."""
        if depth > MAX_DEPTH:
            raise ExpressionError(_TOO_DEEP, self._span(node))
        if _is_literal(node):
            value = self._literal(node)
            return self._append(Constant(value, canonical_json(value), self._span(node)))
        reader = self._readers.get(type(node))
        if reader is None:
            raise self._unsupported(node, node)
        return reader(node, depth + 1)

    def _name(self, node: ast.Name, depth: int) -> int:
        return self._append(Reference(node.id, False, self._span(node)))

    def _call(self, node: ast.Call, depth: int) -> int:
        if not isinstance(node.func, ast.Name):
            raise ExpressionError("expected an operator's name before the bracket", self._span(node.func))
        if node.func.id == "column":
            return self._append(Reference(self._column(node), True, self._span(node)))
        positional = tuple(self.read(argument, depth) for argument in node.args)
        named: dict[str, int] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise ExpressionError("unsupported syntax: unpacking with **", self._span(keyword))
            if keyword.arg in named:
                raise ExpressionError(f"the argument {keyword.arg!r} is given twice", self._span(keyword))
            named[keyword.arg] = self.read(keyword.value, depth)
        call = Call(node.func.id, positional, tuple(named.items()), self._span(node), self._span(node.func))
        return self._append(call)

    def _column(self, node: ast.Call) -> str:
        name = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            raise ExpressionError("column takes one argument, a column's name in quotes", self._span(node))
        return name.value

    def _unary(self, node: ast.UnaryOp, depth: int) -> int:
        if type(node.op) not in UNARY:
            raise self._unsupported(node.op, node)
        return self._apply(UNARY[type(node.op)], (self.read(node.operand, depth),), node)

    def _binary(self, node: ast.BinOp, depth: int) -> int:
        chain = [node]  # a + b + c + … leans to the left: as many levels as terms, which nobody would call deep
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        result = self.read(chain[-1].left, depth)
        for part in reversed(chain):
            if type(part.op) not in BINARY:
                raise self._unsupported(part.op, part)
            result = self._apply(BINARY[type(part.op)], (result, self.read(part.right, depth)), part)
        return result

    def _logical(self, node: ast.BoolOp, depth: int) -> int:
        return self._joined(LOGICAL[type(node.op)], [self.read(value, depth) for value in node.values], node)

    def _compare(self, node: ast.Compare, depth: int) -> int:
        parts = []
        left, right = self.read(node.left, depth), -1
        for operator, operand in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, (ast.In, ast.NotIn)):
                if not isinstance(operand, (ast.List, ast.Tuple)):
                    raise ExpressionError("`in` expects a list of literals on its right", self._span(operand))
                right = self.read(operand, depth)
                part = self._append(Call("is_in", (left,), (("values", right),), self._span(node), self._span(node)))
                if isinstance(operator, ast.NotIn):
                    part = self._apply("logical_not", (part,), node)
            elif type(operator) in COMPARE:
                right = self.read(operand, depth)
                self._check_not_none(node, left, right)
                part = self._apply(COMPARE[type(operator)], (left, right), node)
            else:
                raise self._unsupported(operator, node)
            parts.append(part)
            left = right
        return self._joined("logical_and", parts, node)

    def _check_not_none(self, node: ast.Compare, *operands: int) -> None:
        for step in (self.steps[index] for index in operands):
            if isinstance(step, Constant) and step.value is None:
                span = self._span(node)
                raise ExpressionError("nothing equals None; whether a value is missing is is_missing(x)", span)

    def _if_else(self, node: ast.IfExp, depth: int) -> int:
        condition, yes, no = (self.read(part, depth) for part in (node.test, node.body, node.orelse))
        return self._apply("where", (condition, yes, no), node)

    def _joined(self, operator: str, parts: Sequence[int], node: ast.expr) -> int:
        result = parts[0]
        for part in parts[1:]:
            result = self._apply(operator, (result, part), node)
        return result

    def _apply(self, operator: str, positional: tuple[int, ...], node: ast.expr) -> int:
        span = self._span(node)
        return self._append(Call(operator, positional, (), span, span))

    def _append(self, step: Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def _literal(self, node: ast.expr) -> Value:
        if isinstance(node, (ast.List, ast.Tuple)):
            for item in node.elts:
                if not _is_literal(item):
                    raise ExpressionError("a list holds literals only", self._span(item))
            return tuple(self._literal(item) for item in node.elts)
        if isinstance(node, ast.UnaryOp):
            number = self._literal(node.operand)
            assert isinstance(number, (int, float))  # what _is_literal lets through
            return self._in_range(-number if isinstance(node.op, ast.USub) else number, node)
        assert isinstance(node, ast.Constant)
        value = node.value
        if isinstance(value, complex) or value is Ellipsis:
            raise ExpressionError(f"unsupported literal {'...' if value is Ellipsis else value}", self._span(node))
        if isinstance(value, str):
            self._check_string(value, node)
        return self._in_range(value, node)

    def _check_string(self, value: str, node: ast.Constant) -> None:
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise ExpressionError("a string with half of a surrogate pair has no UTF-8 form", self._span(node))
        written = self._text.encode()[node.col_offset : node.end_col_offset]
        if b"\n" in written:  # read as a blank, it would be another string than the one that is seen
            raise ExpressionError("a string has to end in the line that it begins in", self._span(node))

    def _in_range(self, value: Value, node: ast.expr) -> Value:
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            raise ExpressionError("the integer fits neither int64 nor uint64", self._span(node))
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            raise ExpressionError("the number is too large for float64", self._span(node))
        return value

    def _unsupported(self, what: ast.AST, where: ast.expr) -> ExpressionError:
        words = UNSUPPORTED.get(type(what), type(what).__name__)
        return ExpressionError(f"unsupported syntax: {words}", self._span(where))

    def _span(self, node: ast.expr | ast.keyword) -> Span:
        start, end = node.col_offset, node.end_col_offset or node.col_offset + 1
        if self._bytes is not None:  # ast counts bytes of UTF-8, readers of a message count characters
            start, end = len(self._bytes[:start].decode()), len(self._bytes[:end].decode())
        return _span_in(self._text, start, end)


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = node.operand
        while isinstance(inner, ast.UnaryOp) and isinstance(inner.op, (ast.USub, ast.UAdd)):
            inner = inner.operand
        return isinstance(inner, ast.Constant) and type(inner.value) in (int, float)
    return isinstance(node, (ast.Constant, ast.List, ast.Tuple))
