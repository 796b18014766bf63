"""TensorFlow's talk at its start: which accelerators it did not find, and before which call it already logs.

The lines are written by static initializers of its libraries, before any setting is read. So while TensorFlow is
imported, standard error goes through a process that leaves known lines out and passes all others on at once: what a
library says before it aborts is not lost. ``TF_CPP_MIN_LOG_LEVEL=0`` in the environment leaves everything as it is.

This module is also the program of that process, and imports the standard library alone.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

LEVEL = "TF_CPP_MIN_LOG_LEVEL"
"""The variable by which TensorFlow decides what it logs once it has started: from 2 on, errors alone."""

_NOISE = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR"
    rb"|I\d{4} .*\bcudart_stub\.cc:\d+\] Could not find cuda drivers"
    rb"|I\d{4} .*\bcpu_feature_guard\.cc:\d+\]"
    rb"|To enable the following instructions: "
)

_NO_DRIVERS = b"Could not find cuda drivers"

_NO_GPU = re.compile(rb"E\d{4} .*\bcuda_platform\.cc:\d+\] failed call to cuInit")
"""Noise where there are no drivers; where there are some, it is what their owner has to know."""

_WAIT_SECONDS = 5.0
"""How long to wait until the last lines have been passed on."""


def install() -> None:
    """Arranges that the first import of TensorFlow in this process is quiet; costs nothing until then.

    Processes that this one starts have the level of the log from it, and call this for themselves.
    """
    loaded = "tensorflow" in sys.modules or any(isinstance(finder, _Finder) for finder in sys.meta_path)
    if not loaded and os.environ.get(LEVEL) != "0":
        os.environ.setdefault(LEVEL, "2")
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds TensorFlow as the other finders do, once, and wraps its import."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != "tensorflow":
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def quietly(module: Any) -> None:
                with _filtered():
                    execute(module)
                    module.config.list_physical_devices("GPU")  # looks for them now and not amid the work

            spec.loader.exec_module = quietly  # type: ignore[method-assign]
        return spec


@contextmanager
def _filtered() -> Iterator[None]:
    """Standard error, of libraries too, without noise while the block runs."""
    import subprocess

    command = [sys.executable, "-I", "-S", __file__]
    try:
        kept = os.dup(2)
        # A session of its own: an interrupt from the terminal ends the work, not what tells about it.
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=kept, start_new_session=True)
    except OSError:  # no standard error, or no more processes: nothing to filter, or nothing to filter it with
        yield
        return
    pipe = program.stdin
    if pipe is None:
        raise TypeError("a process was started without the pipe that was asked for")
    os.dup2(pipe.fileno(), 2)
    pipe.close()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)  # the pipe's last end is closed by this, and the process ends
        os.close(kept)
        with suppress(subprocess.TimeoutExpired):  # what was started meanwhile may still write through the pipe
            program.wait(_WAIT_SECONDS)


def worth_telling(lines: Iterable[bytes]) -> Iterator[bytes]:
    """``lines`` without noise."""
    drivers = True
    for line in lines:
        drivers = drivers and _NO_DRIVERS not in line
        if not _NOISE.match(line) and not (_NO_GPU.match(line) and not drivers):
            yield line


def _pass_on(source: BinaryIO, target: BinaryIO) -> None:
    for line in worth_telling(source):
        target.write(line)
        target.flush()


if __name__ == "__main__":
    _pass_on(sys.stdin.buffer, sys.stderr.buffer)
