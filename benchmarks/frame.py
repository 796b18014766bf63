"""What all benchmarks share: sides that take turns, medians, a table, and one JSON object as the last line.

A benchmark says what its sides are and what it makes of their medians; a timing is never a test.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Cost:
    """What a run took.

    Attributes:
      wall_seconds: from start to end.
      cpu_seconds: user and system time of this process and of the children that have ended.
    """

    wall_seconds: float
    cpu_seconds: float

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.wall_seconds - other.wall_seconds, self.cpu_seconds - other.cpu_seconds)

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall_seconds + other.wall_seconds, self.cpu_seconds + other.cpu_seconds)


def now() -> Cost:
    """The clock and this process's CPU time, children included; only differences mean something."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Cost(time.perf_counter(), sum(each.ru_utime + each.ru_stime for each in used))


def measured(work: Callable[[], object]) -> Cost:
    """What ``work`` takes."""
    start = now()
    work()
    return now() - start


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each part by itself."""
    return Cost(
        statistics.median(each.wall_seconds for each in costs),
        statistics.median(each.cpu_seconds for each in costs),
    )


def alternate(sides: Mapping[str, Callable[[], Cost]], runs: int, *, once: Sequence[str] = ()) -> dict[str, list[Cost]]:
    """Runs the sides in turn, so that what the machine does meanwhile hits all of them alike.

    Args:
      sides: what to run, by name; each returns what it took.
      runs: how often each side runs.
      once: names of sides that run in the first round only (a slow peer in a quick benchmark).

    Returns:
      The costs of each side, in order.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in sides}
    for turn in range(runs):
        for name, side in sides.items():
            if turn and name in once:
                continue
            cost = side()
            costs[name].append(cost)
            print(
                f"run {turn + 1}/{runs}  {name}: {cost.wall_seconds:.2f} s wall, {cost.cpu_seconds:.2f} s CPU",
                file=sys.stderr,
                flush=True,
            )
    return costs


def arguments(description: str) -> argparse.ArgumentParser:
    """A parser with what every benchmark takes: ``--quick`` and ``--runs``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="the same at a size that ends within 60 s")
    parser.add_argument("--runs", type=int, default=None, help="runs of each side (default: 5)")
    return parser


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table; the first column is names, the others are figures."""
    table = Table(title=title, title_justify="left")
    for index, name in enumerate(header):
        table.add_column(name, justify="right" if index else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def finish(benchmark: str, figures: Mapping[str, float], settings: Mapping[str, object]) -> None:
    """Prints the last line: one JSON object, with the machine beside the settings."""
    machine = {"cpu": _cpu(), "cores": len(os.sched_getaffinity(0)), "python": platform.python_version()}
    result = {
        "benchmark": benchmark,
        "figures": {key: round(value, 3) for key, value in figures.items()},
        "settings": {**settings, **machine},
    }
    print(json.dumps(result), flush=True)


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor()
