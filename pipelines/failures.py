"""How a mistake that a worker finds reaches the user: as the error itself, whatever runner is between them.

Runners wrap what a DoFn raises in tracebacks of their own, retry it, and give up on the rest. A wrong line in a log
does not get better by retrying, and the next file's mistakes are worth knowing too. So a DoFn catches errors that
Forebay foresees and hands them on as elements; they are written to a folder outside the store, and raised after the
job.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems

from transforms.errors import ForebayError, InputError

FAILURES = "failures"
"""Tag of the output that a DoFn puts its failures out on."""


@dataclass(frozen=True)
class Failure:
    """An error that was foreseen.

    Attributes:
      message: what is told to the user.
      is_input: whether the user's input is at fault.
    """

    message: str
    is_input: bool

    @classmethod
    def of(cls, error: ForebayError) -> Failure:
        """The failure that ``error`` tells about."""
        return cls(str(error), isinstance(error, InputError))


class FailingDoFn(beam.DoFn):
    """A DoFn whose foreseen errors are elements: subclasses say what an element becomes in `results`."""

    def results(self, element: Any) -> Iterator[Any]:
        """What ``element`` becomes. May raise ForebayError."""
        raise TypeError(f"{type(self).__name__} says nothing about {element!r}")

    def process(self, element: Any, barrier: Any = None) -> Iterator[Any]:
        """The results, or a failure on the output `FAILURES`. A ``barrier`` is a side input that is only waited for."""
        try:
            yield from self.results(element)
        except ForebayError as error:
            yield beam.pvalue.TaggedOutput(FAILURES, Failure.of(error))


class WriteFailures(beam.PTransform):
    """Writes failures to a folder that the process which started the job can read.

    Args:
      folder: a path or URI that Beam's file systems know.
    """

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = folder

    def expand(self, failures: Any) -> Any:
        return failures | beam.ParDo(_WriteFailure(self._folder))


class _WriteFailure(beam.DoFn):
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def process(self, failure: Failure) -> None:
        path = FileSystems.join(self._folder, f"{secrets.token_hex(16)}.json")
        with FileSystems.create(path, "application/octet-stream") as file:
            file.write(json.dumps({"message": failure.message, "is_input": failure.is_input}).encode())


def read_failures(folder: str) -> tuple[Failure, ...]:
    """What `WriteFailures` wrote to ``folder``: each failure once (a runner may try an element twice), sorted."""
    found = set()
    for match in FileSystems.match([FileSystems.join(folder, "*.json")]):
        for metadata in match.metadata_list:
            with FileSystems.open(metadata.path, "application/octet-stream") as file:
                content = json.loads(file.read())
            found.add(Failure(content["message"], content["is_input"]))
    return tuple(sorted(found, key=lambda failure: (failure.is_input, failure.message)))


def raise_failures(failures: tuple[Failure, ...]) -> None:
    """Raises one error that tells all ``failures``, if there are any.

    Raises:
      InputError: all of them are the user's input.
      ForebayError: some are not.
    """
    if failures:
        kind = InputError if all(failure.is_input for failure in failures) else ForebayError
        raise kind("\n".join(failure.message for failure in failures))
