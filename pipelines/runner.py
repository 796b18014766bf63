"""Runners: which one runs a job, with which options, and how it ends.

`DirectRunner` here always means Beam's Python runner inside this process (`FnApiRunner`): what Beam calls DirectRunner
first looks for Prism, a program that it would download. Any other name goes to Beam as it is, with the options given;
for Dataflow these are at least ``--project``, ``--region``, ``--temp_location`` and ``--setup_file ./setup.py``, which
ships this distribution to the workers. Dataflow was never run by this project's tests.
"""

from __future__ import annotations

import logging
import secrets
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions, StandardOptions
from apache_beam.runners.runner import PipelineState

from pipelines.errors import RunnerError
from pipelines.failures import WriteFailures, raise_failures, read_failures
from transforms.errors import InputError
from transforms.places import nearest

_IN_PROCESS = {"DirectRunner": "FnApiRunner", "FnApiRunner": "FnApiRunner"}

_MODES = {"threads": "multi_threading", "processes": "multi_processing"}

_QUIETER = {
    "apache_beam": logging.WARNING,
    # Its worker processes warn that a folder is absent which only their containers have.
    "apache_beam.runners.portability.local_job_service": logging.ERROR,
    # It discards what it does not know; here that is an error.
    "apache_beam.options.pipeline_options": logging.ERROR,
}

_TELL_OF_INTERRUPTS = ("apache_beam.runners.common", "apache_beam.runners.portability.local_job_service")
"""Loggers of workers in this process, and of those in processes that an interrupt from the terminal meets too."""


@dataclass(frozen=True)
class RunnerOptions:
    """How jobs are run.

    Attributes:
      runner: name of a Beam runner.
      workers: how many workers DirectRunner has; other runners have options of their own for that.
      mode: what DirectRunner's workers are, if there are several: ``threads``, or ``processes`` (each takes several
        seconds to start, so they are for long jobs).
      flags: further options of Beam's, as on its command line.
    """

    runner: str = "DirectRunner"
    workers: int = 1
    mode: str = "threads"
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"expected at least 1 worker, found {self.workers}")
        if self.mode not in _MODES:
            raise InputError(f"expected workers that are {' or '.join(_MODES)}, found {self.mode!r}")
        known = sorted({*_IN_PROCESS, *StandardOptions.KNOWN_RUNNER_NAMES})
        if "." not in self.runner and self.runner not in known:
            found = f"found {self.runner!r}{nearest(self.runner, known)}"
            raise InputError(f"expected a runner among {', '.join(known)}, or a class's path, {found}")

    @property
    def in_process(self) -> bool:
        """Whether jobs run on this machine, started by this process."""
        return self.runner in _IN_PROCESS

    def pipeline_options(self) -> PipelineOptions:
        """The options as Beam has them."""
        flags = list(self.flags)
        for before, flag in zip(["", *flags], flags, strict=False):
            is_value = before.startswith("--") and "=" not in before
            if not flag.startswith("--") and not is_value:  # Beam would leave it out without a word
                raise InputError(f"expected an option of Beam's, as --region=europe-west1, found {flag!r}")
        if self.in_process and self.workers > 1:
            flags += [f"--direct_num_workers={self.workers}", f"--direct_running_mode={_MODES[self.mode]}"]
        options = PipelineOptions(flags)
        with _quiet():
            known = options.get_all_options(retain_unknown_options=False)
            unknown = sorted(set(options.get_all_options(retain_unknown_options=True)) - set(known))
        if unknown:
            raise InputError(f"Beam has no option --{unknown[0]}{nearest(unknown[0], known)}")
        if not self.in_process and not options.view_as(GoogleCloudOptions).temp_location:
            raise InputError(f"the runner {self.runner} needs --temp_location, which its workers can write")
        return options


def run_job(build: Callable[[beam.Pipeline], Any], options: RunnerOptions) -> None:
    """Builds a pipeline and runs it to its end.

    Args:
      build: adds transforms to a pipeline and returns the PCollection of their failures.
      options: how to run.

    Raises:
      InputError, ForebayError: what workers found wrong, after everything else was done.
      RunnerError: the job did not end well for other reasons.
    """
    beam_options = options.pipeline_options()
    with _failure_folder(options, beam_options) as folder:
        pipeline = beam.Pipeline(runner=_IN_PROCESS.get(options.runner, options.runner), options=beam_options)
        build(pipeline) | "write failures" >> WriteFailures(folder)
        with _quiet(), _interruptible():
            state = pipeline.run().wait_until_finish()
        raise_failures(read_failures(folder))
        if state != PipelineState.DONE:
            raise RunnerError(f"the job on {options.runner} ended as {state}, expected {PipelineState.DONE}")


@contextmanager
def _failure_folder(options: RunnerOptions, beam_options: PipelineOptions) -> Iterator[str]:
    """A folder that workers can write and this process can read."""
    temporary = beam_options.view_as(GoogleCloudOptions).temp_location
    if options.in_process:
        with tempfile.TemporaryDirectory(prefix="forebay-failures-") as folder:
            yield folder
    else:
        yield FileSystems.join(temporary, f"forebay-failures-{secrets.token_hex(8)}")


@contextmanager
def _quiet() -> Iterator[None]:
    before = {name: logging.getLogger(name).level for name in _QUIETER}
    for name, level in _QUIETER.items():
        logging.getLogger(name).setLevel(level)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


@contextmanager
def _interruptible() -> Iterator[None]:
    """An interrupt stays one: where it meets a worker in this thread, Beam logs it and raises it as a RuntimeError."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    interrupted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        handler(number, frame)

    def is_told(record: logging.LogRecord) -> bool:
        return not interrupted

    loggers = [logging.getLogger(name) for name in _TELL_OF_INTERRUPTS]
    for logger in loggers:
        logger.addFilter(is_told)
    signal.signal(signal.SIGINT, note)
    try:
        yield
    except Exception as error:
        if interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, handler)
        for logger in loggers:
            logger.removeFilter(is_told)
