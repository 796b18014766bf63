"""The dense networks, as Keras layers: ``mlp``, ``dlrm`` and ``dcn_v2``.

A network takes what was looked up (a tensor ``[batch, features, dim]`` for each block of features) and the numeric
features side by side (``[batch, width]``; width 0 where there are none), and gives one logit per example ``[batch]``.
First values come from `trainer.initial`, so they depend on the seed and on the variable's name only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from trainer.errors import NetworkError
from trainer.initial import glorot
from trainer.tables import Block
from transforms.specs import DcnV2, Dlrm, Network
from transforms.specs import Mlp as MlpSpec

if keras.backend.backend() != "tensorflow":
    raise NetworkError(
        f"Keras runs on {keras.backend.backend()!r} here and the trainer needs 'tensorflow': "
        "set KERAS_BACKEND=tensorflow or change ~/.keras/keras.json"
    )


class Perceptron(keras.layers.Layer):
    """Layers of ``relu(x · W + b)``, the last one linear where asked."""

    def __init__(self, units: Sequence[int], *, linear_last: bool, name: str):
        super().__init__(name=name)
        last = len(units) - 1 if linear_last else None
        self.layers = [
            _affine(count, f"layer_{number}", None if number == last else "relu") for number, count in enumerate(units)
        ]

    def call(self, inputs: Any) -> Any:
        for layer in self.layers:
            inputs = layer(inputs)
        return inputs


class Mlp(keras.layers.Layer):
    """A multi-layer perceptron over all features side by side."""

    def __init__(self, spec: MlpSpec):
        super().__init__(name="mlp")
        self.top = Perceptron([*spec.hidden, 1], linear_last=True, name="top")

    def call(self, embeddings: Sequence[Any], dense: Any) -> Any:
        return tf.squeeze(self.top(side_by_side(embeddings, dense)), axis=1)


class Cross(keras.layers.Layer):
    """One cross layer: ``x0 ⊙ (W · x + b) + x`` (Wang et al., arXiv 2008.13535, formula 1).

    With a rank, ``W = U · V`` with V to that many values and U back (formula 2, one expert, no gate).
    """

    def __init__(self, rank: int | None, name: str):
        super().__init__(name=name)
        self.rank = rank

    def build(self, initial_shape: Sequence[int | None], inputs_shape: Sequence[int | None]) -> None:
        width = int(inputs_shape[-1] or 0)
        self.narrow = None if self.rank is None else _affine(self.rank, "narrow", None, bias=False)
        self.wide = _affine(width, "wide", None)
        if self.narrow is not None:
            self.narrow.build(inputs_shape)
        self.wide.build((None, self.rank or width))
        super().build((initial_shape, inputs_shape))

    def call(self, initial: Any, inputs: Any) -> Any:
        narrow = inputs if self.narrow is None else self.narrow(inputs)
        return initial * self.wide(narrow) + inputs


class DcnV2Network(keras.layers.Layer):
    """Deep & Cross Network V2, stacked: cross layers over all features side by side, then a perceptron."""

    def __init__(self, spec: DcnV2):
        super().__init__(name="dcn_v2")
        self.crosses = [Cross(spec.rank, f"cross_{number}") for number in range(spec.cross_layers)]
        self.top = Perceptron([*spec.hidden, 1], linear_last=True, name="top")

    def call(self, embeddings: Sequence[Any], dense: Any) -> Any:
        initial = crossed = side_by_side(embeddings, dense)
        for cross in self.crosses:
            crossed = cross(initial, crossed)
        return tf.squeeze(self.top(crossed), axis=1)


class DlrmNetwork(keras.layers.Layer):
    """Deep Learning Recommendation Model (Naumov et al., arXiv 1906.00091).

    The bottom perceptron takes the numeric features to one more vector of the tables' dim (a last layer of that width
    is added to the spec's); the dot products of all pairs of vectors, beside that vector, go into the top perceptron.
    Without numeric features there is no bottom.
    """

    def __init__(self, spec: Dlrm, dim: int, dense_width: int):
        super().__init__(name="dlrm")
        self.bottom = Perceptron([*spec.bottom, dim], linear_last=False, name="bottom") if dense_width else None
        self.top = Perceptron([*spec.top, 1], linear_last=True, name="top")

    def call(self, embeddings: Sequence[Any], dense: Any) -> Any:
        (vectors,) = embeddings
        if self.bottom is None:
            return tf.squeeze(self.top(pair_products(vectors)), axis=1)
        bottom = self.bottom(dense)
        vectors = tf.concat([bottom[:, tf.newaxis, :], vectors], axis=1)
        return tf.squeeze(self.top(tf.concat([bottom, pair_products(vectors)], axis=1)), axis=1)


def side_by_side(embeddings: Sequence[Any], dense: Any) -> Any:
    """All features as one vector per example ``[batch, width]``: blocks, then numeric features."""
    flat = [tf.reshape(block, [-1, block.shape[1] * block.shape[2]]) for block in embeddings]
    parts = [*flat, dense] if dense.shape[1] else flat
    return parts[0] if len(parts) == 1 else tf.concat(parts, axis=1)


def pair_products(vectors: Any) -> Any:
    """Dot products of all pairs of different vectors: ``[batch, n, dim]`` → ``[batch, n · (n − 1) ÷ 2]``.

    Pairs (i, j) with i > j, in order of i, then j.
    """
    count = vectors.shape[1]
    products = tf.reshape(tf.matmul(vectors, vectors, transpose_b=True), [-1, count * count])
    return tf.gather(products, [i * count + j for i in range(count) for j in range(i)], axis=1)


def make_network(spec: Network, blocks: Sequence[Block], dense_width: int, seed: int) -> keras.layers.Layer:
    """The network of ``spec``, built.

    Args:
      spec: which, and how large.
      blocks: what is looked up.
      dense_width: number of numeric features' values.
      seed: of first values.

    Raises:
      NetworkError: the network cannot take these features.
    """
    if isinstance(spec, Dlrm):
        if len(blocks) != 1:
            found = ", ".join(f"{block.dim} ({', '.join(block.features)})" for block in blocks) or "no id features"
            raise NetworkError(
                f"dlrm takes tables of one dim, whose vectors it multiplies with each other; found {found}"
            )
        if len(blocks[0].features) + bool(dense_width) < 2:
            raise NetworkError(
                "dlrm multiplies pairs of vectors: it takes two id features, or one and a numeric feature"
            )
        network: keras.layers.Layer = DlrmNetwork(spec, blocks[0].dim, dense_width)
    elif isinstance(spec, DcnV2):
        network = DcnV2Network(spec)
    else:
        network = Mlp(spec)
    network([tf.zeros([1, len(block.features), block.dim]) for block in blocks], tf.zeros([1, dense_width]))
    for name, variable in variables_of(network).items():
        if name.endswith("/kernel"):
            variable.assign(glorot(seed, name, *variable.shape))
    return network


def variables_of(network: keras.layers.Layer) -> Mapping[str, tf.Variable]:
    """The network's trainable variables, by name, in a fixed order."""
    found = {variable.path: variable.value for variable in network.trainable_variables}
    if len(found) != len(network.trainable_variables):
        raise ValueError(f"two variables of {network.name} have one name: {sorted(found)}")
    return dict(sorted(found.items()))


def _affine(units: int, name: str, activation: str | None, bias: bool = True) -> Any:
    """A layer whose kernel `make_network` fills when its name is known."""
    return keras.layers.Dense(units, activation=activation, use_bias=bias, kernel_initializer="zeros", name=name)
