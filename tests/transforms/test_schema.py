import pytest

from transforms.errors import SpecError
from transforms.schema import parse_schema, parse_type
from transforms.types import ColumnType, DType, Shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int64", ColumnType(DType.INT64, nullable=True)),
        ("  float64  not  null ", ColumnType(DType.FLOAT64)),
        ("string not null", ColumnType(DType.STRING)),
        ("bool", ColumnType(DType.BOOL, nullable=True)),
        ("uint64", ColumnType(DType.UINT64, nullable=True)),
        ("list<string>", ColumnType(DType.STRING, Shape.RAGGED)),
        ("list < int64 >", ColumnType(DType.INT64, Shape.RAGGED)),
    ],
)
def test_what_a_type_says(text, expected):
    assert parse_type(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int", r"unknown type 'int' \(did you mean 'int64'\?\)"),
        ("Double", r"unknown type 'Double' \(did you mean 'float64'\?\)"),
        ("strin", r"unknown type 'strin' \(did you mean 'string'\?\)"),
        ("list<list<int64>>", "expected a type"),
        ("list<int64> not null", "a list is never null"),
        ("int64 null", "expected a type"),
        ("list<int64", "expected a type"),
        ("", "expected a type"),
    ],
)
def test_what_is_no_type(text, message):
    with pytest.raises(SpecError, match=message):
        parse_type(text)


def test_a_schema_names_the_column_that_is_wrong():
    assert list(parse_schema({"b": "int64", "a": "string"})) == ["b", "a"]
    with pytest.raises(SpecError, match="column 'a': unknown type 'text'"):
        parse_schema({"b": "int64", "a": "text"})
