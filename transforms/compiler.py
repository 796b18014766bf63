"""Nodes and assets as one TensorFlow function.

`compile_nodes` makes a `Transform`: the same function runs over the chunks of a log (`Transform.apply`, Arrow in and
out) and inside an exported model (`Transform.__call__`, tensors in and out). Each node is computed once, whoever uses
it. What an operator computes is its own business (`transforms.operators`); which assets there are, the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import tensorflow as tf

from transforms import operators
from transforms.arrow_values import from_value, to_value
from transforms.assets import Asset
from transforms.errors import ForebayError, InputError
from transforms.nodes import CONSTANT, Node
from transforms.operators.base import Analyzer
from transforms.operators.elementwise import Elementwise
from transforms.types import ColumnType, DType
from transforms.values import TF_DTYPES, Nullable, Value, opaque, split, tensor_spec


class Transform(tf.Module):
    """A compiled set of nodes. Make one with `compile_nodes`.

    Args:
      outputs: the nodes to compute, by name.
      order: every node that is computed, inputs before what uses them.
      prepared: what kernels use of each asset, by the analyzer node's identity.

    Attributes:
      inputs: the raw columns that it reads, by name, sorted.
      outputs: the types of what it computes, by name, in the caller's order.
    """

    def __init__(self, outputs: Mapping[str, Node], order: Sequence[Node], prepared: Mapping[str, Any]) -> None:
        super().__init__(name="transform")
        raw = {node.column: node.type for node in order if node.is_raw}
        self.inputs: Mapping[str, ColumnType] = MappingProxyType({name: raw[name] for name in sorted(raw)})
        self.outputs: Mapping[str, ColumnType] = MappingProxyType({name: node.type for name, node in outputs.items()})
        self._nodes = MappingProxyType(dict(outputs))
        self._order = tuple(order)
        self._prepared = MappingProxyType(dict(prepared))
        # A saved model keeps what is reachable through attributes.
        self._tables = [item for item in prepared.values() if isinstance(item, tf.Module)]
        specs = {name: tensor_spec(column) for name, column in self.inputs.items()}
        signature = [specs, tf.TensorSpec([], tf.int64)]
        # Kernels say tf.cond where they mean it; looking for more in their source took ten times as long as they.
        self._function = tf.function(self._compute, input_signature=signature, autograph=False)

    def __call__(self, columns: Mapping[str, Value], rows: Any = None) -> dict[str, Value]:
        """The outputs of a batch of any size.

        Args:
          columns: the value of each of `inputs`; others are ignored.
          rows: how many rows the batch has; needed only where there are no inputs.
        """
        missing = [name for name in self.inputs if name not in columns]
        if missing:
            raise InputError(f"the batch lacks the columns {', '.join(missing)}; it has {', '.join(columns) or 'none'}")
        if rows is None:
            if not self.inputs:
                raise InputError("a batch without columns does not say how many rows it has: pass `rows`")
            rows = _rows(columns[next(iter(self.inputs))])
        found: dict[str, Value] = self._function({name: columns[name] for name in self.inputs}, tf.cast(rows, tf.int64))
        return found

    def apply(self, table: pa.Table) -> pa.Table:
        """The outputs of an Arrow table's rows, as columns of the types that `ColumnType.to_arrow` says.

        Raises:
          InputError: where the table lacks a column, or has it in a type that does not fit.
        """
        columns = {}
        for name, column in self.inputs.items():
            if name not in table.column_names:
                there = ", ".join(table.column_names) or "none"
                raise InputError(f"the table lacks the column {name!r}; it has {there}")
            try:
                columns[name] = to_value(table.column(name), column)
            except InputError as error:
                raise InputError(f"column {name!r}: {error}") from error
        found = self(columns, rows=table.num_rows)
        arrays = [from_value(found[name], column) for name, column in self.outputs.items()]
        schema = pa.schema([pa.field(name, column.to_arrow()) for name, column in self.outputs.items()])
        return pa.Table.from_arrays(arrays, schema=schema)

    def _compute(self, columns: Mapping[str, Value], rows: Any) -> dict[str, Value]:
        values: dict[str, Value] = {}
        for node in self._order:
            if node.is_raw:
                values[node.identity] = columns[node.column]
            elif node.operator == CONSTANT:
                values[node.identity] = _constant(node)
            else:
                operator = operators.find(node.operator)
                asset = self._prepared[node.inputs[-1].identity] if operator.analyzer else None
                operands = node.inputs[:-1] if operator.analyzer else node.inputs
                inputs = [values[item.identity] for item in operands]
                if not isinstance(operator, Elementwise):
                    inputs = [_in_every_row(value, rows) for value in inputs]
                with tf.name_scope(node.operator):
                    values[node.identity] = operator.kernel(inputs, node, asset)
        return {name: _in_every_row(values[node.identity], rows) for name, node in self._nodes.items()}


def compile_nodes(outputs: Mapping[str, Node], assets: Mapping[str, Asset]) -> Transform:
    """The function that computes ``outputs`` from raw columns.

    Args:
      outputs: the nodes to compute, by name.
      assets: what analyzers found, by their node's identity.

    Raises:
      ForebayError: where an analyzer's asset is not there, an output is itself an analyzer, or a node was made by
        another version of its operator.
    """
    order: dict[str, Node] = {}
    prepared: dict[str, Any] = {}
    stack: list[tuple[Node, bool]] = [(node, False) for node in reversed(list(outputs.values()))]
    while stack:
        node, ready = stack.pop()
        if ready:
            order[node.identity] = node
            continue
        if node.identity in order:
            continue
        if node.analyzer:
            raise ForebayError(f"{node.operator} is a statistic of a whole column and has no value in a row")
        stack.append((node, True))
        operands: Sequence[Node] = node.inputs
        if not node.is_raw and node.operator != CONSTANT:
            operator = operators.find(node.operator)
            if operator.version != node.version:
                raise ForebayError(
                    f"{node.operator} is of version {operator.version} here, the node was made by {node.version}"
                )
            if operator.analyzer:
                *operands, analyzer = node.inputs  # what the analyzer saw is not computed again
                if analyzer.identity not in prepared:
                    prepared[analyzer.identity] = _prepare(analyzer, assets)
        stack.extend((inner, False) for inner in reversed(operands))
    return Transform(outputs, tuple(order.values()), prepared)


def _prepare(node: Node, assets: Mapping[str, Asset]) -> Any:
    if node.identity not in assets:
        raise ForebayError(f"there is no asset for {node.operator} {node.identity}: run the analyzers first")
    operator = operators.find(node.operator)
    if not isinstance(operator, Analyzer):
        raise ForebayError(f"{node.operator} is no analyzer")
    return operator.prepare(assets[node.identity], node.inputs[0].type)


def _constant(node: Node) -> Value:
    """A literal, as a tensor of rank 0."""
    value, dtype = node.parameters["value"], TF_DTYPES[node.type.dtype]
    if value is None:
        return Nullable(tf.zeros([], dtype), tf.constant(False))
    if node.type.dtype is DType.UINT64 and isinstance(value, int) and value >= 2**63:
        value -= 2**64  # the int64 with the same bits
    found = tf.constant(value, dtype)
    return opaque(found) if dtype.is_floating else found


def _in_every_row(value: Value, rows: Any) -> Value:
    """A column, also of what is the same in all rows."""
    if isinstance(value, Nullable):
        return Nullable(*(_in_every_row(item, rows) for item in value))
    if isinstance(value, tf.RaggedTensor) or value.shape.rank:
        return value
    return tf.fill(tf.reshape(rows, [1]), value)


def _rows(value: Value) -> Any:
    if isinstance(value, tf.RaggedTensor):
        return value.nrows(tf.int64)
    return tf.shape(split(value)[0], tf.int64)[0]
