"""A trained model as what a server runs: raw columns in, predictions out, and nothing of ours needed to load it.

The module holds what a SavedModel has to keep (the compiled transformation with its statistics, whole tables, the dense
network's variables) and the functions that become its signatures. How requests are laid out is `trainer.export_inputs`;
writing it somewhere is `trainer.export`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from trainer.engines.contract import VALUES, Engine
from trainer.errors import ExportError
from trainer.export_inputs import Input, columns_from_examples, columns_from_tensors, inputs_of, tensor_specs
from trainer.model import Model, row_ranges
from trainer.tables import Table, look_up
from trainer.variables import assign_part
from transforms.compiler import Transform
from transforms.values import Value

SERVING = "serving_default"
"""Signature: tensors of raw columns → predictions."""

EXAMPLES = "examples"
"""Signature: serialized Examples → predictions. Its input has the same name."""

FEATURES = "features"
"""Signature: tensors of raw columns → features."""

EXAMPLE_FEATURES = "example_features"
"""Signature: serialized Examples → features."""

PREDICTION, LOGIT = "prediction", "logit"
"""The outputs of the signatures that predict, each ``[batch]`` float32."""

LENGTHS = "__lengths"
"""What the name of a feature's tensor of lengths ends in."""


class ServedModel(tf.Module):
    """A model for serving.

    Attributes:
      inputs: the raw columns that it takes.
      transform: computes features of them.
      tables: each embedding table whole, by name.
      variables_of_network: the dense network's variables, by name.
    """

    def __init__(self, model: Model, transform: Transform):
        """Copies the tables of ``model`` as they are now; the network's variables are shared with it.

        Args:
          model: the trained model.
          transform: computes the model's features, named as in its definition.
        """
        super().__init__(name="served_model")
        self.inputs: tuple[Input, ...] = inputs_of(transform.inputs)
        self.transform = transform
        self.tables = {table.name: _copy(model.engine, table) for table in model.engine.tables.values()}
        self.variables_of_network = dict(model.parameters.values)
        self._model = model

    def signatures(self) -> dict[str, Any]:
        """The functions to serve, by name of the signature.

        They are made of parts that are functions themselves, so that each part is traced once: tracing takes most of
        the time of an export.
        """
        tensors, examples = [tensor_specs(self.inputs)], [tf.TensorSpec([None], tf.string, name=EXAMPLES)]
        from_tensors = _function(lambda request: columns_from_tensors(self.inputs, request), tensors)
        from_examples = _function(lambda serialized: columns_from_examples(self.inputs, serialized), examples)
        predict, name = _function(self._predict), _function(named_tensors)
        return {
            SERVING: _function(lambda request: predict(self.transform(from_tensors(request))), tensors),
            EXAMPLES: _function(lambda serialized: predict(self.transform(from_examples(serialized))), examples),
            FEATURES: _function(lambda request: name(self.transform(from_tensors(request))), tensors),
            EXAMPLE_FEATURES: _function(lambda serialized: name(self.transform(from_examples(serialized))), examples),
        }

    def _predict(self, features: Mapping[str, Value]) -> dict[str, Any]:
        definition = self._model.definition
        activations = look_up(self.tables, definition.blocks, definition.lookups, features)
        logits = self._model.logits(activations, features)
        return {PREDICTION: tf.sigmoid(logits), LOGIT: logits}


def _function(body: Callable[..., Any], signature: list[Any] | None = None) -> Any:
    return tf.function(body, input_signature=signature, autograph=False)


def named_tensors(features: Mapping[str, Value]) -> dict[str, Any]:
    """Features as the outputs of a signature: lists padded with zeros, their lengths beside them.

    Raises:
      ExportError: a feature has the name that another one's lengths would have.
    """
    outputs = {}
    for name, value in features.items():
        if isinstance(value, tf.RaggedTensor):
            if name + LENGTHS in features:
                raise ExportError(
                    f"features {name!r} and {name + LENGTHS!r}: the second has the name of the first one's lengths;"
                    " rename one of them"
                )
            outputs[name], outputs[name + LENGTHS] = value.to_tensor(), value.row_lengths()
        else:
            outputs[name] = value
    return outputs


def _copy(engine: Engine, table: Table) -> tf.Variable:
    """A table as one variable, copied piece by piece."""
    variable = tf.Variable(tf.zeros([table.rows, table.dim]), trainable=False, name=table.name)
    for rows in row_ranges(table.rows):
        assign_part(variable, (rows.start, 0), engine.read_rows(table.name, VALUES, rows))
    return variable
