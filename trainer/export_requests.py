"""Requests to an exported model, made from raw columns: the inverse of `trainer.export_inputs`.

The check of an export asks it for rows of the log through here; so may anyone who has columns and wants requests.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from trainer.export_inputs import Input
from transforms.types import DType
from transforms.values import Nullable, Value


def tensor_request(inputs: Iterable[Input], columns: Mapping[str, Value]) -> dict[str, Any]:
    """The tensors of the signature ``serving_default`` that stand for ``columns``."""
    request: dict[str, Any] = {}
    for entry in inputs:
        value = columns[entry.column]
        companion = None
        if isinstance(value, tf.RaggedTensor):
            value, companion = value.to_tensor(), value.row_lengths()
        elif isinstance(value, Nullable):
            value, companion = value
        request[entry.tensor] = value
        if entry.companion is not None:
            request[entry.companion] = companion
    return request


def example_request(inputs: Iterable[Input], columns: Mapping[str, Value]) -> Any:
    """``columns`` as serialized Examples [batch], for the signature ``examples``; doubles are given exactly."""
    fields = [(entry, _rows(columns[entry.column])) for entry in inputs]
    examples = []
    for row in zip(*(rows for _, rows in fields), strict=True):
        example = tf.train.Example()
        for (entry, _), values in zip(fields, row, strict=True):
            if values:
                _fill(example.features.feature, entry, values)
        examples.append(example.SerializeToString())
    return tf.constant(examples, tf.string, [len(examples)])


def _rows(value: Value) -> Sequence[Sequence[Any]]:
    """Each row's values: none for a null or an empty list."""
    if isinstance(value, tf.RaggedTensor):
        values, splits = value.values.numpy().tolist(), value.row_splits.numpy().tolist()
        return [values[start:end] for start, end in itertools.pairwise(splits)]
    if isinstance(value, Nullable):
        pairs = zip(value.values.numpy().tolist(), value.present.numpy().tolist(), strict=True)
        return [[item] if present else [] for item, present in pairs]
    return [[item] for item in value.numpy().tolist()]


def _fill(feature: Any, entry: Input, values: Sequence[Any]) -> None:
    if entry.exact is not None:
        feature[entry.exact].bytes_list.value.extend(struct.pack("<d", value) for value in values)
    elif entry.type.dtype is DType.STRING:
        feature[entry.column].bytes_list.value.extend(values)
    elif entry.type.dtype is DType.FLOAT32:
        feature[entry.column].float_list.value.extend(values)
    else:
        feature[entry.column].int64_list.value.extend(int(value) for value in values)
