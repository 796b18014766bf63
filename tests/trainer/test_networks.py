"""Each network against its formula, written with NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from trainer.errors import NetworkError
from trainer.networks import make_network, pair_products, variables_of
from trainer.tables import Block
from transforms.specs import DcnV2, Dlrm, Mlp

RANDOM = np.random.default_rng(5)
BLOCK = Block(4, ("a", "b", "c"))
EMBEDDINGS = RANDOM.normal(size=(6, 3, 4)).astype(np.float32)
DENSE = RANDOM.normal(size=(6, 2)).astype(np.float32)
NO_DENSE = DENSE[:, :0]


def values_of(network: Any) -> Mapping[str, np.ndarray]:
    """The network's variables, with biases that are not 0."""
    for name, variable in variables_of(network).items():
        if name.endswith("bias"):
            variable.assign(RANDOM.normal(size=variable.shape))
    return {name: variable.numpy() for name, variable in variables_of(network).items()}


def perceptron(inputs: np.ndarray, values: Mapping[str, np.ndarray], name: str, linear_last: bool = True) -> np.ndarray:
    count = len([each for each in values if each.startswith(f"{name}/layer_") and each.endswith("kernel")])
    for number in range(count):
        inputs = inputs @ values[f"{name}/layer_{number}/kernel"] + values[f"{name}/layer_{number}/bias"]
        if number < count - 1 or not linear_last:
            inputs = np.maximum(inputs, 0)
    return inputs


@pytest.mark.parametrize("dense", [DENSE, NO_DENSE])
def test_mlp(dense: np.ndarray) -> None:
    network = make_network(Mlp((5, 3)), [BLOCK], dense.shape[1], seed=1)
    values = values_of(network)
    expected = perceptron(np.concatenate([EMBEDDINGS.reshape(6, 12), dense], axis=1), values, "mlp/top")[:, 0]
    np.testing.assert_allclose(network([EMBEDDINGS], dense), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rank", [None, 2])
def test_dcn_v2(rank: int | None) -> None:
    other = RANDOM.normal(size=(6, 1, 2)).astype(np.float32)
    network = make_network(DcnV2(2, rank, (5,)), [Block(2, ("d",)), BLOCK], 2, seed=1)
    values = values_of(network)
    start = crossed = np.concatenate([other.reshape(6, 2), EMBEDDINGS.reshape(6, 12), DENSE], axis=1)
    for number in range(2):
        kernel = values[f"dcn_v2/cross_{number}/wide/kernel"]
        if rank is not None:
            kernel = values[f"dcn_v2/cross_{number}/narrow/kernel"] @ kernel
        crossed = start * (crossed @ kernel + values[f"dcn_v2/cross_{number}/wide/bias"]) + crossed
    expected = perceptron(crossed, values, "dcn_v2/top")[:, 0]
    np.testing.assert_allclose(network([other, EMBEDDINGS], DENSE), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dense", [DENSE, NO_DENSE])
def test_dlrm(dense: np.ndarray) -> None:
    network = make_network(Dlrm((5,), (7, 3)), [BLOCK], dense.shape[1], seed=1)
    values = values_of(network)
    vectors, first = EMBEDDINGS, []
    if dense.shape[1]:
        bottom = perceptron(dense, values, "dlrm/bottom", linear_last=False)
        vectors, first = np.concatenate([bottom[:, None], EMBEDDINGS], axis=1), [bottom]
    count = vectors.shape[1]
    pairs = [(vectors[:, i] * vectors[:, j]).sum(axis=1) for i in range(count) for j in range(i)]
    expected = perceptron(np.concatenate([*first, np.stack(pairs, axis=1)], axis=1), values, "dlrm/top")[:, 0]
    np.testing.assert_allclose(network([EMBEDDINGS], dense), expected, rtol=1e-5, atol=1e-6)


def test_pairs_in_order() -> None:
    vectors = np.array([[[1.0], [10.0], [100.0], [1000.0]]], np.float32)
    assert pair_products(vectors).numpy().tolist() == [[10, 100, 1000, 1000, 10_000, 100_000]]


def test_first_values_depend_on_the_seed_only() -> None:
    one, same, other = (variables_of(make_network(Mlp((5,)), [BLOCK], 2, seed)) for seed in (1, 1, 2))
    assert list(one) == [f"mlp/top/layer_{number}/{kind}" for number in (0, 1) for kind in ("bias", "kernel")]
    for name in one:
        np.testing.assert_array_equal(one[name], same[name])
    assert not np.array_equal(one["mlp/top/layer_0/kernel"], other["mlp/top/layer_0/kernel"])


@pytest.mark.parametrize(
    ("blocks", "dense", "message"),
    [
        ([Block(2, ("a",)), Block(4, ("b",))], 1, r"one dim.*found 2 \(a\), 4 \(b\)"),
        ([], 1, "found no id features"),
        ([Block(2, ("a",))], 0, "pairs of vectors"),
    ],
)
def test_dlrm_refuses_what_has_no_pairs(blocks: list[Block], dense: int, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        make_network(Dlrm(), blocks, dense, seed=0)
