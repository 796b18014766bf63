"""Every operator's documentation has an example, and every example holds."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

import pyarrow as pa
import pytest

from transforms import operators
from transforms.assets import Asset, Boundaries, Moments, Vocabulary
from transforms.compiler import compile_nodes
from transforms.nodes import Node, raw, walk
from transforms.operators import Literal
from transforms.types import ColumnType, DType, Shape

NAMES = {"Vocabulary": Vocabulary, "Moments": Moments, "Boundaries": Boundaries, "nan": math.nan, "inf": math.inf}


def column_type(text: str) -> ColumnType:
    nullable, list_of = text.startswith("nullable "), re.fullmatch(r"list<(\w+)>", text)
    if list_of:
        return ColumnType(DType(list_of[1]), Shape.RAGGED)
    return ColumnType(DType(text.removeprefix("nullable ")), nullable=nullable)


def written(text: str) -> object:
    return eval(text, {"__builtins__": {}}, NAMES)


def argument(node: ast.expr, columns: dict[str, Node]) -> operators.Argument:
    return columns[node.id] if isinstance(node, ast.Name) else Literal(ast.literal_eval(node))


def examples(name: str) -> Iterator[tuple[str, dict[str, tuple[ColumnType, object]], Asset | None, bool, object]]:
    """The call, the columns, the asset, whether equality is exact, and the output, of each line of the example."""
    _, _, text = operators.find(name).help.partition("Example:\n")
    columns: dict[str, tuple[ColumnType, object]] = {}
    asset: Asset | None = None
    for line in filter(str.strip, text.splitlines()):
        if match := re.fullmatch(r"\s+(\w+): ([\w<> ]+) = (.*)", line):
            columns[match[1]] = (column_type(match[2]), written(match[3]))
        elif match := re.fullmatch(r"\s+asset: (.*)", line):
            asset = written(match[1])  # type: ignore[assignment]
        else:
            match = re.fullmatch(r"\s+(\w+\(.*\)) ([=≈]) (.*)", line)
            assert match, f"{name}: no example is written like {line!r}"
            yield match[1], dict(columns), asset, match[2] == "=", written(match[3])


def same(found: object, expected: object, exact: bool) -> bool:
    if isinstance(expected, list):
        alike = isinstance(found, list) and len(found) == len(expected)
        return alike and all(same(left, right, exact) for left, right in zip(found, expected, strict=True))
    if isinstance(expected, float) and isinstance(found, float):
        if math.isnan(expected) or math.isnan(found):
            return math.isnan(expected) and math.isnan(found)
        return found == expected or (not exact and math.isclose(found, expected, rel_tol=1e-14, abs_tol=1e-15))
    return type(found) is type(expected) and found == expected


def node_of(text: str, columns: dict[str, Node]) -> Node:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    return operators.find(call.func.id).call(
        [argument(item, columns) for item in call.args],
        {item.arg: argument(item.value, columns) for item in call.keywords if item.arg},
    )


@pytest.fixture(scope="module")
def computed() -> dict[tuple[str, str], tuple[Node, pa.Array]]:
    """Node and output of every example; those of as many rows are computed together, which compiles much less often."""
    tables: dict[int, dict[str, pa.Array]] = {}
    outputs: dict[int, dict[str, Node]] = {}
    assets: dict[str, Asset] = {}
    for name in operators.names():
        for text, columns, asset, _, expected in examples(name):
            assert isinstance(expected, list)
            table = tables.setdefault(len(expected), {})
            # The asset is part of the column's name: an analyzer of one column has one asset.
            nodes = {column: raw(f"{name}.{column}.{asset}", kind) for column, (kind, _) in columns.items()}
            node = node_of(text, nodes)
            for column, (kind, values) in columns.items():
                if nodes[column] in walk([node]):
                    table[nodes[column].column] = pa.array(values, kind.to_arrow())
            if asset:
                assets[node.inputs[-1].identity] = asset
            assert f"{name}: {text}" not in outputs.setdefault(len(expected), {}), "two examples with one call"
            outputs[len(expected)][f"{name}: {text}"] = node
    found = {}
    for rows, nodes in outputs.items():
        result = compile_nodes(nodes, assets).apply(pa.table(tables[rows]))
        for key, node in nodes.items():
            name, _, text = key.partition(": ")
            found[name, text] = node, result[key].combine_chunks()
    return found


@pytest.mark.parametrize("name", operators.names())
def test_the_example_holds(name: str, computed: dict[tuple[str, str], tuple[Node, pa.Array]]) -> None:
    seen = list(examples(name))
    assert seen, f"{name} has no example"
    for text, _, _, exact, expected in seen:
        node, found = computed[name, text]
        assert found.type == node.type.to_arrow()
        assert same(found.to_pylist(), expected, exact), f"{text}: {found.to_pylist()} is not {expected}"
        if not node.type.nullable:
            assert found.null_count == 0


def test_every_operator_says_what_it_does() -> None:
    for name in operators.names():
        assert operators.find(name).help.splitlines()[0].endswith((".", ";")), name
