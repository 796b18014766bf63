"""How parameters are updated: one function per optimizer, the same wherever rows or dense variables are.

An update is a pure function of values, slots and a gradient, elementwise, so that it is the same code on embedding
rows and on dense variables, on tensors and on NumPy arrays. Where values and slots lie and which rows an update reaches
is the engine's business.

* SGD: value − learning_rate · g
* Adagrad (Duchi, Hazan and Singer, JMLR 2011): accumulator + g²; value − learning_rate · g ÷ (√accumulator + ε)

ε = 1e-8 only keeps 0 ÷ 0 away, where the initial accumulator is 0 and so is the first gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import tensorflow as tf

from transforms.specs import Adagrad, Optimizer, Sgd

EPSILON = 1e-8


class Math(Protocol):
    """The functions that updates need: those of ``tf.math`` or of ``numpy``."""

    def sqrt(self, values: Any) -> Any:
        """The square root of each value."""


class Updated(NamedTuple):
    """What an update gives: the new values and the new slots, in the order of `slots_of`."""

    values: Any
    slots: tuple[Any, ...]


def slots_of(optimizer: Optimizer) -> Mapping[str, float]:
    """Names of the optimizer's slots and the value that each of them starts with, in their order everywhere."""
    if isinstance(optimizer, Adagrad):
        return MappingProxyType({"accumulator": optimizer.initial_accumulator})
    return MappingProxyType({})


def update(optimizer: Optimizer, values: Any, slots: Sequence[Any], gradients: Any, math: Math = tf.math) -> Updated:
    """One step.

    Args:
      optimizer: what to do.
      values: parameters, of any shape.
      slots: arrays of the same shape, in the order of `slots_of`.
      gradients: of the same shape.
      math: ``numpy`` where the arrays are NumPy's.

    Returns:
      The new values and slots.
    """
    if isinstance(optimizer, Sgd):
        return Updated(values - optimizer.learning_rate * gradients, ())
    (accumulator,) = slots
    accumulator = accumulator + gradients * gradients
    step = optimizer.learning_rate * gradients / (math.sqrt(accumulator) + EPSILON)
    return Updated(values - step, (accumulator,))


class Parameters(tf.Module):
    """Dense variables with their optimizer's slots.

    Attributes:
      optimizer: how they are updated.
      values: the variables, by name.
      slots: by the variable's name, then by the slot's.
    """

    def __init__(self, optimizer: Optimizer, variables: Mapping[str, tf.Variable]):
        super().__init__(name="parameters")
        self.optimizer = optimizer
        self.values = dict(variables)
        self.slots = {
            name: {
                slot: tf.Variable(tf.fill(variable.shape, tf.constant(first, variable.dtype)), trainable=False)
                for slot, first in slots_of(optimizer).items()
            }
            for name, variable in self.values.items()
        }

    def apply(self, gradients: Sequence[Any]) -> None:
        """One step with a gradient for each variable, in the order of `values`."""
        for (name, variable), gradient in zip(self.values.items(), gradients, strict=True):
            slots = self.slots[name]
            after = update(
                self.optimizer, variable.read_value(), [slot.read_value() for slot in slots.values()], gradient
            )
            variable.assign(after.values)
            for slot, value in zip(slots.values(), after.slots, strict=True):
                slot.assign(value)
