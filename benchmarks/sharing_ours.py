"""Forebay's side of `benchmarks.sharing`: models materialized together, in a process of its own.

``python -m benchmarks.sharing_ours DATASET STORE MODELS…`` prints a JSON object: what the work took, in total (`WORK`)
and per stage, once everything was imported and started. What the process took in all, the caller sees.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import apache_beam as beam
import tensorflow as tf

import pipelines.analyze
import pipelines.materialize  # noqa: F401  (imported by the job when it has something to do)
from benchmarks.frame import Cost, now
from benchmarks.sharing import WORK
from forebay.project import open_project
from pipelines import job
from pipelines.runner import RunnerOptions, run_job


def main(argv: Sequence[str]) -> None:
    """Materializes models into a new store and says what that took."""
    data, store, *models = argv
    if Path(store).exists():
        raise FileExistsError(f"{store}: expected a store that is not there yet")
    _start()
    start = now()
    project = open_project(models, data, store, create=True)
    if project.store is None:
        raise ValueError("the project was opened without making a store")
    planned = now()
    summary = job.run(project.models, project.dataset, project.store)
    work = now() - start
    steps = {name: Cost(seconds, summary.cpu_seconds[name]) for name, seconds in summary.seconds.items()}
    stages = {"plan": planned - start, **steps}
    print(json.dumps({name: asdict(cost) for name, cost in {WORK: work, **stages}.items()}))


def _start() -> None:
    """What TensorFlow and Beam's runner do once per process: belongs to the start, not to the work."""
    tf.function(lambda value: value + 1)(tf.constant(1))
    run_job(lambda pipeline: pipeline | beam.Create([]), RunnerOptions())


if __name__ == "__main__":
    main(sys.argv[1:])
