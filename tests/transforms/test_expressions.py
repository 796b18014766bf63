import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import ExpressionError
from transforms.expressions import MAX_DEPTH, parse
from transforms.places import pointed
from transforms.programs import Call, Constant, Program, Reference


def said(program: Program) -> str:
    """A program as nested calls, every literal with its type."""
    texts: list[str] = []
    for step in program.steps:
        if isinstance(step, Constant):
            texts.append(f"{type(step.value).__name__}:{step.value!r}")
        elif isinstance(step, Reference):
            texts.append(f"column:{step.name}" if step.raw else step.name)
        else:
            arguments = [texts[index] for index in step.positional] + [f"{n}={texts[index]}" for n, index in step.named]
            texts.append(f"{step.operator}({', '.join(arguments)})")
    return texts[-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("price", "price"),
        ("Ünicode", "Ünicode"),
        ("  price\n", "price"),
        ("column('odd name')", "column:odd name"),
        ("a + b - c", "subtract(add(a, b), c)"),
        ("a * b / c // d % e ** f", "modulo(floor_divide(divide(multiply(a, b), c), d), power(e, f))"),
        ("-a", "negative(a)"),
        ("-1", "int:-1"),
        ("+1.5", "float:1.5"),
        ("- -1", "int:1"),
        ("-0.0", "float:-0.0"),
        ("-2 ** 2", "negative(power(int:2, int:2))"),
        ("1_000_000", "int:1000000"),
        ("-9223372036854775808", "int:-9223372036854775808"),
        ("18446744073709551615", "int:18446744073709551615"),
        ("True", "bool:True"),
        ("None", "NoneType:None"),
        ("'a' 'b'", "str:'ab'"),
        ("b'a'", "bytes:b'a'"),
        ("[1, 'a', -1.0, (True, None)]", "tuple:(1, 'a', -1.0, (True, None))"),
        ("a < b", "less(a, b)"),
        ("a == b != c", "logical_and(equal(a, b), not_equal(b, c))"),
        ("0 <= a < 10", "logical_and(less_equal(int:0, a), less(a, int:10))"),
        ("a > b >= c", "logical_and(greater(a, b), greater_equal(b, c))"),
        ("a in ['x', 'y']", "is_in(a, values=tuple:('x', 'y'))"),
        ("a not in (1,)", "logical_not(is_in(a, values=tuple:(1,)))"),
        ("a and b or not c", "logical_or(logical_and(a, b), logical_not(c))"),
        ("a and b and c", "logical_and(logical_and(a, b), c)"),
        ("a if b else c", "where(b, a, c)"),
        ("f()", "f()"),
        ("f(a, 3, n=[1])", "f(a, int:3, n=tuple:(1,))"),
        ("a +\n  b\n  * c", "add(a, multiply(b, c))"),
    ],
)
def test_what_syntax_means(text, expected):
    assert said(parse(text)) == expected


UNSUPPORTED = {
    "lambda x: x": "a lambda",
    "a.b": "an attribute",
    "a[0]": "an index",
    "[x for x in a]": "a comprehension",
    "{x for x in a}": "a comprehension",
    "f(x for x in a)": "a comprehension",
    "{}": "a dict",
    "{1}": "a set",
    "f'{a}'": "an f-string",
    "f(*a)": "unpacking",
    "f(**a)": "unpacking",
    "(a := 1)": "an assignment",
    "(yield)": "yield",
    "(await a)": "await",
    "+a": "a plus sign",
    "~a": "written with `not`",
    "a & b": "written with `and`",
    "a | b": "written with `or`",
    "a ^ b": r"\^",
    "a @ b": "@",
    "a << 1": "<<",
    "a is None": "is_missing",
    "a is not None": "is_missing",
    "a == None": "is_missing",
    "None != a": "is_missing",
    "a in b": "a list of literals",
    "a in 'abc'": "a list of literals",
    "a in [b]": "literals only",
    "[[a]]": "literals only",
    "f(a)(b)": "an operator's name",
    "f(n=1, n=2)": "given twice",
    "column(a)": "a column's name in quotes",
    "column('a', 'b')": "a column's name in quotes",
    "1j": "unsupported literal",
    "...": "unsupported literal",
    "18446744073709551616": "fits neither",
    "-9223372036854775809": "fits neither",
    "1e999": "too large",
    "'\\ud800'": "surrogate",
    "'\\d'": "invalid escape",
    "1if a else b": "not an expression",
    "a = b": "not an expression",
    "a; b": "not an expression",
    "a) + (b": "unmatched",
    "f(a": "never closed",
    "a b": "not an expression",
    "a\0b": "not an expression",
    "import os": "not an expression",
    "": "empty",
    " \n ": "empty",
    "a # b": "comment",
    "a # b\n + c": "comment",
    "concat('a\nb', c)": "end in the line",
    "9" * 5000: "an integer of so many digits fits neither int64 nor uint64",
    "(" * 300 + "a" + ")" * 300: "nested too deep",
    "not " * (MAX_DEPTH + 1) + "a": "nested too deep",
    "f(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1): "nested too deep",
    "not " * 50_000 + "a": "nested too deep",
    "+".join("a" * 50_000): "nested too deep",
    "a" * 2_000_000: "at most 1000000 characters",
}


@pytest.mark.parametrize("text", UNSUPPORTED, ids=lambda text: text[:20])
def test_what_is_no_expression_is_said(text):
    with pytest.raises(ExpressionError, match=UNSUPPORTED[text]):
        parse(text)


def test_long_sums_are_not_deep():
    assert len(parse(" + ".join(f"a{i}" for i in range(120))).steps) == 239
    assert len(parse(" or ".join(f"a{i}" for i in range(2_000))).steps) == 3_999


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fill(a.b, 0)", "fill(a.b, 0)\n     ^^^"),
        ("concat('é', a.b)", "concat('é', a.b)\n            ^^^"),
        ("a +\n  b.c", "  b.c\n  ^^^"),
        ("a +\n\tb.c", "\tb.c\n\t^^^"),
        ("f(a", "f(a\n ^"),
    ],
)
def test_the_caret_stands_under_the_fault(text, shown):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert pointed(text, caught.value.span, indent="") == shown


def test_of_a_long_line_the_part_around_the_fault_is_shown():
    text = "+".join(["abcdefgh"] * 50 + ["x.y"] + ["abcdefgh"] * 50)
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    line, carets = pointed(text, caught.value.span, indent="").split("\n")
    assert len(line) == 100
    assert line.startswith("…")
    assert line.endswith("…")
    assert line[carets.index("^") : len(carets)] == "x.y"


@given(st.text(max_size=30) | st.text("ab(),.+-*'[]1 \n#=<", max_size=30))
def test_any_text_is_an_expression_or_a_clear_error(text):
    try:
        program, span = parse(text), None
    except ExpressionError as error:
        program, span = None, error.span
    assert pointed(text, span)
    for index, step in enumerate(program.steps if program else ()):
        if isinstance(step, Call):
            assert all(earlier < index for earlier in (*step.positional, *dict(step.named).values()))


literals = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@given(literals)
def test_literals_are_what_python_reads(value):
    (step,) = parse(repr(value)).steps
    assert isinstance(step, Constant)
    assert repr(step.value) == repr(value)
    assert step.value == ast.literal_eval(repr(value))


@given(literals, literals)
def test_the_keys_of_literals_tell_them_apart(a, b):
    same = parse(repr(a)).steps[0].key == parse(repr(b)).steps[0].key
    assert same == (repr(a) == repr(b))
