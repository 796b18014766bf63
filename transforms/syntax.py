"""Which operators Python's syntax stands for, and what to say of syntax that stands for none."""

from __future__ import annotations

import ast

UNARY = {ast.USub: "negative", ast.Not: "logical_not"}
"""The operator that stands for each of Python's unary operators."""

BINARY = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "modulo",
    ast.Pow: "power",
}
"""The operator that stands for each of Python's arithmetic operators."""

COMPARE = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}
"""The operator that stands for each of Python's comparisons; ``in`` becomes ``is_in(x, values=[…])``."""

LOGICAL = {ast.And: "logical_and", ast.Or: "logical_or"}
"""The operator that stands for ``and`` and ``or``, two operands at a time from the left."""

UNSUPPORTED: dict[type[ast.AST], str] = {
    ast.Lambda: "a lambda",
    ast.Attribute: "an attribute (a column with a dot in its name is written column('a.b'))",
    ast.Subscript: "an index or a slice",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.Dict: "a dict",
    ast.Set: "a set (a list of values is written [a, b])",
    ast.JoinedStr: "an f-string (strings are joined by concat)",
    ast.Starred: "unpacking with *",
    ast.NamedExpr: "an assignment with := (names are given in `let`)",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.UAdd: "a plus sign before an expression",
    ast.Invert: "~ (logic is written with `not`)",
    ast.BitAnd: "& (logic is written with `and`)",
    ast.BitOr: "| (logic is written with `or`)",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.MatMult: "@",
    ast.Is: "`is` (whether a value is missing is is_missing(x))",
    ast.IsNot: "`is not` (whether a value is missing is is_missing(x))",
}
"""What Python has and expressions have not, in words and with what to write in its place."""
