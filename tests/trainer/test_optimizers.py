from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from trainer.optimizers import Parameters, slots_of, update
from transforms.specs import Adagrad, Optimizer, Sgd


@pytest.mark.parametrize("math", [np, tf.math])
def test_formulas(math: object) -> None:
    value, accumulator, gradient = (np.array(each, np.float64) for each in ([1.0, -2.0], [0.25, 0.0], [3.0, -4.0]))
    after = update(Sgd(learning_rate=0.5), value, (), gradient, math)
    np.testing.assert_allclose(after.values, [-0.5, 0.0])
    assert after.slots == ()
    after = update(Adagrad(learning_rate=0.5), value, (accumulator,), gradient, math)
    np.testing.assert_allclose(after.slots[0], [9.25, 16.0])
    np.testing.assert_allclose(after.values, [1 - 1.5 / np.sqrt(9.25), -2 + 2 / 4], rtol=1e-8)


def test_adagrad_without_gradient_changes_nothing_even_from_nothing() -> None:
    zero = np.zeros(3, np.float32)
    after = update(Adagrad(initial_accumulator=0.0), zero + 1, (zero,), zero, np)
    np.testing.assert_array_equal(after.values, zero + 1)
    np.testing.assert_array_equal(after.slots[0], zero)


@pytest.mark.parametrize("optimizer", [Sgd(learning_rate=0.3), Adagrad(learning_rate=0.3, initial_accumulator=0.5)])
def test_dense_variables_follow_a_float64_reference(optimizer: Optimizer) -> None:
    random = np.random.default_rng(2)
    variables = {"a": tf.Variable(random.normal(size=(3, 2)).astype(np.float32)), "b": tf.Variable(tf.zeros([2]))}
    parameters = Parameters(optimizer, variables)
    values = {name: variable.numpy().astype(np.float64) for name, variable in variables.items()}
    sums = {name: np.full(value.shape, 0.5) for name, value in values.items()}
    for _ in range(50):
        gradients = {name: random.normal(size=value.shape).astype(np.float32) for name, value in values.items()}
        parameters.apply([tf.constant(gradient) for gradient in gradients.values()])
        for name, gradient in gradients.items():
            sums[name] += gradient.astype(np.float64) ** 2
            scale = np.sqrt(sums[name]) if isinstance(optimizer, Adagrad) else 1.0
            values[name] -= 0.3 * gradient / scale
    for name, value in values.items():
        np.testing.assert_allclose(variables[name], value, rtol=1e-5, atol=1e-5)
        for slot in slots_of(optimizer):
            np.testing.assert_allclose(parameters.slots[name][slot], sums[name], rtol=1e-5)
