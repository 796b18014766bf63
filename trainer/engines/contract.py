"""What every embedding engine gives, whatever it runs on.

The engine owns the step. A lookup and an update that others call would not hold for all of them: one engine looks up
inside the accelerator's program, another needs a loop around its messages. So the model hands over a pure function, and
gets back a function that runs many steps.

A step means the same on every engine and on any number of replicas: the gradients of the summed weighted loss are
summed over replicas and divided by the global weight, and each distinct id of the global step is updated once. A step
whose global weight is 0 changes no value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from trainer.errors import UnsupportedError
from trainer.optimizers import Parameters
from trainer.tables import Table
from transforms.places import nearest

Activations: TypeAlias = Sequence[Any]
"""What was looked up: ``[batch, features, dim]`` for each `trainer.tables.Block` of the model."""

VALUES = "values"
"""The name under which a table's rows themselves are read and written; its slots have their optimizer's names."""

NO_FAULT, BAD_ID, NOT_FINITE = range(3)
"""Why steps stopped early: not; an id is outside its table; the loss is not finite."""


class Loss(NamedTuple):
    """What a batch, or a replica's part of it, adds to a step.

    Attributes:
      loss: sum of weight × loss over the examples; scalar.
      weight: sum of the weights; scalar.
    """

    loss: Any
    weight: Any


class Dense(Protocol):
    """The dense part of a model: a pure function per replica, whose shapes are static but for the batch."""

    def __call__(self, activations: Activations, batch: Any) -> Loss:
        """The loss of ``batch``, a `materialized.reader.Batch`, given what its ids looked up."""


class Forward(Protocol):
    """What is computed without training: any pure function of activations and a batch."""

    def __call__(self, activations: Activations, batch: Any) -> Any:
        """The function's value."""


@dataclass(frozen=True)
class Serialized:
    """Every lookup sees every update of all steps before."""

    name = "serialized"


@dataclass(frozen=True)
class Pipelined:
    """The lookups of a step run beside the dense part of the steps before it, whose updates they lack.

    Attributes:
      staleness: by how many updates rows may lag behind, at most.
    """

    staleness: int = 1
    name = "pipelined"


Schedule: TypeAlias = Serialized | Pipelined


class StepsRun(NamedTuple):
    """What a run of steps did; scalars of NumPy or TensorFlow.

    Attributes:
      steps: how many were done; fewer than asked for where data ended or there was a fault.
      examples: how many examples they saw.
      loss: sum of weight × loss over them.
      weight: sum of their weights.
      position: ``[3]`` int64, the reader's position after the last of them; negative where none was done.
      fault: `NO_FAULT`, or why the next step was not done. Parameters are of no use after a fault.
    """

    steps: Any
    examples: Any
    loss: Any
    weight: Any
    position: Any
    fault: Any


class Run(Protocol):
    """Trains."""

    def __call__(self, iterator: Any, steps: int) -> StepsRun:
        """Takes up to ``steps`` batches from the iterator of a dataset, and does a step with each."""


class Engine(Protocol):
    """Holds a model's tables and trains them with its dense part."""

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables, by name."""

    def make_step(self, dense: Dense, parameters: Parameters, schedule: Schedule) -> Run:
        """A function that trains the tables and ``parameters`` with ``dense``.

        Raises:
          UnsupportedError: the engine has no such schedule, or cannot do what a table's optimizer asks.
        """

    def make_forward(self, forward: Forward) -> Any:
        """A function from a batch to (what ``forward`` gives for it, `NO_FAULT` or `BAD_ID`). Changes no training."""

    def read_rows(self, table: str, slot: str, rows: range) -> npt.NDArray[np.float32]:
        """Rows ``[rows, dim]`` of `VALUES` or a slot, with all updates of the steps done so far."""

    def write_rows(self, table: str, slot: str, rows: range, values: npt.NDArray[np.float32]) -> None:
        """Replaces rows of `VALUES` or a slot."""


SUPPORTED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("host", "schedule"): ("serialized",),
    ("host", "optimizer"): ("adagrad", "sgd"),
}
"""What each engine can do, by option. Anything else is refused, with the nearest that works."""


def require(engine: str, option: str, values: Iterable[str]) -> None:
    """Refuses what ``engine`` cannot do.

    Raises:
      UnsupportedError: naming the option, the value and those that work.
    """
    supported = SUPPORTED[engine, option]
    for value in values:
        if value not in supported:
            hint = nearest(value, supported) or f" (use {supported[0]!r})"
            raise UnsupportedError(
                f"the {engine} engine has no {option} {value!r}{hint}; it has {', '.join(map(repr, supported))}"
            )
