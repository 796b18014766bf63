"""Operators that compute each value from the values in the same place: nulls, lists and vectors are handled here, once.

* A scalar beside a list or a vector is repeated for each of the row's values.
* A missing operand makes the result missing; a missing scalar beside a list empties the list (lists hold no nulls).
* Two lists go together where they have the same lengths by construction: both are element-wise results of one list.
* An operator may itself find a value missing (a division by zero, an id out of range). In a list, the value is dropped.

A class gives `Elementwise.dtype` and `Elementwise.compute`; it sees flat tensors of equal length, or of rank 0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transforms.errors import OperatorError
from transforms.lazy import tf
from transforms.nodes import Node
from transforms.operators.base import Operator, Parameters
from transforms.types import ColumnType, DType, Shape

if TYPE_CHECKING:
    from transforms.values import Value as Column


class Elementwise(Operator):
    """An operator on the values in one place; see the module."""

    @abstractmethod
    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        """What one value of the result is."""

    @abstractmethod
    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        """The result of present values; with `partial`, the pair of the result and of which are there."""

    def partial(self, inputs: Sequence[Node], parameters: Parameters) -> bool:
        """Whether the result may be missing where all operands are present."""
        return False

    def nullable(self, inputs: Sequence[Node], parameters: Parameters) -> bool:
        """Whether the result may be missing."""
        return any(node.type.nullable for node in inputs) or self.partial(inputs, parameters)

    def compute_nullable(
        self, values: Sequence[Any], present: Sequence[Any | None], node: Node, asset: Any
    ) -> tuple[Any, Any | None]:
        """The result and which are there (None: all).

        Operators for which a missing operand does not make the result missing override it.
        """
        found = self.compute(values, node, asset)
        known = [item for item in present if item is not None]
        if isinstance(found, tuple):
            found, valid = found
            known.append(valid)
        there = None
        for item in known:
            there = item if there is None else tf.logical_and(there, item)
        return found, there

    def result_type(self, inputs: Sequence[Node], parameters: Parameters) -> ColumnType:
        shapes = {node.type.shape for node in inputs}
        nullable = self.nullable(inputs, parameters)
        dtype = self.dtype(inputs, parameters)
        if shapes == {Shape.SCALAR}:
            return ColumnType(dtype, nullable=nullable)
        if Shape.VECTOR not in shapes:
            lists = [(index, lengths_of(node)) for index, node in enumerate(inputs) if node.type.shape is Shape.RAGGED]
            for index, lengths in lists[1:]:
                if lengths != lists[0][1]:
                    wanted = "lists that are as long as each other in every row: made from the same list"
                    raise OperatorError(f"{self.name}() takes {wanted}", index)
            return ColumnType(dtype, Shape.RAGGED)
        widths = {node.type.width for node in inputs if node.type.shape is Shape.VECTOR}
        if Shape.RAGGED in shapes or len(widths) > 1:
            found = " and ".join(str(node.type) for node in inputs)
            raise OperatorError(f"{self.name}() takes vectors of one width and no lists beside them, found {found}")
        if nullable:
            raise OperatorError(f"{self.name}() of a vector cannot be missing in places: fill() what is missing first")
        return ColumnType(dtype, Shape.VECTOR, width=widths.pop())

    def kernel(self, inputs: Sequence[Column], node: Node, asset: Any) -> Column:
        from transforms.values import Nullable, opaque, split, zero_where_missing

        if node.type.shape is Shape.SCALAR:
            flat, there = [list(items) for items in zip(*map(split, inputs), strict=True)]
            values, present = self.compute_nullable(flat, there, node, asset)
            values = opaque(values) if values.dtype.is_floating else values
            if not node.type.nullable:
                return values
            present = tf.constant(True) if present is None else present
            if values.shape.rank != present.shape.rank:
                shape = tf.shape(values if values.shape.rank else present)
                values, present = tf.broadcast_to(values, shape), tf.broadcast_to(present, shape)
            return zero_where_missing(values, present)
        like = next(value for value in inputs if isinstance(value, tf.RaggedTensor) or _rank(value) == 2)
        flat, there = [], []
        for value in inputs:
            values, present = split(value) if isinstance(value, Nullable) else (value, None)
            flat.append(_spread(values, like))
            there.append(None if present is None else _spread(present, like))
        values, present = self.compute_nullable(flat, there, node, asset)
        values = opaque(values) if values.dtype.is_floating else values
        count = tf.size(_spread(like, like))
        values = values if values.shape.rank else tf.fill([count], values)
        if node.type.shape is Shape.VECTOR:
            return tf.reshape(values, [-1, node.type.width])
        result = like.with_values(values)
        if present is None:
            return result
        present = present if present.shape.rank else tf.fill([count], present)
        return tf.ragged.boolean_mask(result, like.with_values(present))


def _rank(value: Any) -> int:
    return value.shape.rank if isinstance(value, tf.Tensor) else 1


def _spread(values: Any, like: Any) -> Any:
    """``values`` flat, those of scalars repeated for each value that the row has in ``like``."""
    if isinstance(values, tf.RaggedTensor):
        return values.values
    if values.shape.rank == 0:
        return values
    if values.shape.rank == 2:
        return tf.reshape(values, [-1])
    if isinstance(like, tf.RaggedTensor):
        return tf.gather(values, like.value_rowids())
    return tf.repeat(values, like.shape[1])


def lengths_of(node: Node) -> str:
    """The identity of the list that a list has its lengths from."""
    from transforms.operators import find

    while True:
        operator = None if node.is_raw else find(node.operator)
        if not isinstance(operator, Elementwise):
            return node.identity
        inputs = node.inputs[:-1] if operator.analyzer else node.inputs
        if operator.nullable(inputs, node.parameters):
            return node.identity  # values may have been dropped
        node = next(item for item in inputs if item.type.shape is Shape.RAGGED)
