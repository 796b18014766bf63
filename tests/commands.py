"""Running the command line as a user does: another process, from another directory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def forebay(*words: object, python: Path | str = sys.executable, directory: Path, code: int = 0) -> str:
    """Runs ``python -m forebay`` and gives what it printed.

    Args:
      *words: verb and arguments.
      python: the interpreter; its own environment must hold Forebay, unless it is the one that runs the tests.
      directory: where it runs.
      code: the exit code that it must end with.

    Returns:
      Standard output; standard error where the code is not 0.
    """
    return run([python, "-m", "forebay", *words], directory=directory, code=code, ours=python == sys.executable)


def run(command: Sequence[object], *, directory: Path, code: int = 0, ours: bool = True) -> str:
    """Runs a command; see `forebay`. ``ours``: whether it finds Forebay where these tests stand."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"COLUMNS": "160", "TF_CPP_MIN_LOG_LEVEL": "2"} | ({"PYTHONPATH": str(ROOT)} if ours else {})
    ran = subprocess.run(
        [str(word) for word in command], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    said = f"{' '.join(map(str, command))}\nexit code {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
    assert ran.returncode == code, said
    return ran.stdout if code == 0 else ran.stderr
