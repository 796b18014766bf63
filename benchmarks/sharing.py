"""What sharing saves: the five taxi models materialized together, each alone, and each by tensorflow-transform.

All read the same Parquet files. Two ratios come out:

* ``alone_cpu``: CPU seconds of each model alone, added up, ÷ all together, both by Forebay. Start-up and imports are
  taken off both: what a process did before its work began. The graph predicts a bound, the same ratio counted in nodes.
* ``tft_cpu``: CPU seconds of tensorflow-transform (`benchmarks.sharing_tft`), one process per model, added up, ÷ all
  together by Forebay, whole processes on both sides.

Every run starts from an empty store. CPU seconds include those of processes that the work started.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.frame import Cost, alternate, arguments, finish, median, now, show
from benchmarks.sharing_data import enlarge
from materialized.sources import raw_schema
from transforms.binding import bind_all
from transforms.graph import FeatureGraph, is_boundary
from transforms.spec_files import load_dataset, load_models

ROOT = Path(__file__).resolve().parent.parent
TAXI = ROOT / "examples" / "taxi"
MODELS = ("tip", "tip_fine", "tip_cross", "tip_any", "tip_card")
QUICK_MODELS = ("tip", "tip_cross")

TOGETHER = "together"
ALONE = "each alone"
TFT = "tensorflow-transform"

WORK = "work"
"""What `benchmarks.sharing_ours` calls all of its stages together."""


@dataclass
class Ours:
    """What one side of Forebay's reports about its runs: the work alone, and its stages."""

    work: list[Cost] = field(default_factory=list)
    stages: list[dict[str, Cost]] = field(default_factory=list)


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the benchmark."""
    parser = arguments(str(__doc__).partition("\n")[0])
    parser.add_argument("--rows", type=int, default=None, help="rows of the log (default: 500,000)")
    options = parser.parse_args(argv)
    rows = options.rows or (20_000 if options.quick else 500_000)
    runs = options.runs or (1 if options.quick else 5)
    models = QUICK_MODELS if options.quick else MODELS
    # Quick, a side's processes run beside each other: CPU seconds still count, wall time then says little.
    at_once = len(models) if options.quick else 1

    with tempfile.TemporaryDirectory(prefix="forebay-sharing-") as folder:
        log = Path(folder) / "log"
        enlarge(load_dataset(TAXI / "dataset.yaml"), TAXI, log, rows)
        bounds = predicted(log, models)
        together, alone = Ours(), Ours()
        sides = {
            TOGETHER: lambda: ours(log, Path(folder), [models], together, at_once),
            ALONE: lambda: ours(log, Path(folder), [(model,) for model in models], alone, at_once),
            TFT: lambda: tensorflow_transform(log, Path(folder), models, at_once),
        }
        costs = alternate(sides, runs)

    whole = {name: median(found) for name, found in costs.items()}
    work = {TOGETHER: median(together.work), ALONE: median(alone.work)}
    alone_cpu = work[ALONE].cpu_seconds / work[TOGETHER].cpu_seconds
    tft_cpu = whole[TFT].cpu_seconds / whole[TOGETHER].cpu_seconds
    show(
        f"{len(models)} models over {rows:,} rows, medians of {runs}",
        ("", "CPU s", "wall s", "whole processes:\nCPU s", "\nwall s"),
        [
            _row(TOGETHER, work[TOGETHER], whole[TOGETHER]),
            *(_row(f"  {stage}", cost) for stage, cost in _stages(together).items()),
            _row(ALONE, work[ALONE], whole[ALONE]),
            *(_row(f"  {stage}", cost) for stage, cost in _stages(alone).items()),
            _row(TFT, None, whole[TFT]),
        ],
    )
    print(f"alone ÷ together: {alone_cpu:.2f}; {bounds['nodes']:.2f} if all nodes of the graph cost the same")
    print(f"tensorflow-transform ÷ together, whole processes: {tft_cpu:.2f}")
    finish(
        "sharing",
        {
            "alone_cpu": alone_cpu,
            "tft_cpu": tft_cpu,
            "bound_nodes": bounds["nodes"],
            "bound_columns": bounds["columns"],
            "alone_wall": work[ALONE].wall_seconds / work[TOGETHER].wall_seconds,
            "tft_wall": whole[TFT].wall_seconds / whole[TOGETHER].wall_seconds,
        },
        {"rows": rows, "runs": runs, "models": list(models), "processes_at_once": at_once},
    )


def predicted(log: Path, models: Sequence[str]) -> dict[str, float]:
    """How much less there is to do together, if all nodes (or all columns) cost the same."""
    dataset = load_dataset(log / "dataset.yaml")
    specs = load_models([TAXI / "models" / f"{model}.yaml" for model in models])
    bound = bind_all(specs, raw_schema(dataset), dataset)

    def size(graph: FeatureGraph) -> tuple[int, int]:
        nodes = [node for node in graph.nodes if not is_boundary(node)]
        return len(nodes), len({node.identity for node in graph.outputs.values()})

    merged = size(FeatureGraph.of(bound))
    single = [size(FeatureGraph.of([model])) for model in bound]
    return {
        "nodes": sum(nodes for nodes, _ in single) / merged[0],
        "columns": sum(columns for _, columns in single) / merged[1],
    }


def ours(log: Path, folder: Path, parts: Sequence[Sequence[str]], said: Ours, at_once: int) -> Cost:
    """Materializes each part of the models into an empty store of its own, in a process of its own."""

    def report(part: Sequence[str]) -> dict[str, Cost]:
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            paths = [str(TAXI / "models" / f"{model}.yaml") for model in part]
            output = _run("benchmarks.sharing_ours", [str(log / "dataset.yaml"), f"{scratch}/store", *paths])
        return {name: Cost(**cost) for name, cost in json.loads(output.splitlines()[-1]).items()}

    start = now()
    with ThreadPoolExecutor(at_once) as threads:
        reports = list(threads.map(report, parts))
    whole = now() - start
    totals = {name: sum((each[name] for each in reports), Cost(0, 0)) for name in reports[0]}
    said.work.append(totals.pop(WORK))
    said.stages.append(totals)
    return whole


def tensorflow_transform(log: Path, folder: Path, models: Sequence[str], at_once: int) -> Cost:
    """Analyzes and transforms each model with tensorflow-transform, in a process of its own."""

    def transform(model: str) -> None:
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            _run("benchmarks.sharing_tft", [model, str(log / "data"), f"{scratch}/features"])

    start = now()
    with ThreadPoolExecutor(at_once) as threads:
        list(threads.map(transform, models))
    return now() - start


def _run(module: str, words: Sequence[str]) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    ran = subprocess.run(
        [sys.executable, "-m", module, *words], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise RuntimeError(f"{module} {' '.join(words)} ended with {ran.returncode}:\n{ran.stdout}\n{ran.stderr}")
    return ran.stdout


def _stages(side: Ours) -> dict[str, Cost]:
    names = list(dict.fromkeys(name for run in side.stages for name in run))
    return {name: median([run[name] for run in side.stages]) for name in names}


def _row(name: str, work: Cost | None, whole: Cost | None = None) -> tuple[str, ...]:
    return (name, *_cells(work), *_cells(whole))


def _cells(cost: Cost | None) -> tuple[str, str]:
    return ("", "") if cost is None else (f"{cost.cpu_seconds:.2f}", f"{cost.wall_seconds:.2f}")


if __name__ == "__main__":
    main()
