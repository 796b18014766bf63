"""What TensorFlow says at its start, and what of it is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from transforms.startup_noise import worth_telling

ROOT = Path(__file__).resolve().parents[2]

EARLY = b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
NO_DRIVERS = (
    b"I0000 00:00:1.5   7 cudart_stub.cc:31] Could not find cuda drivers on your machine, GPU will not be used.\n"
)
NO_GPU = b"E0000 00:00:1.5   7 cuda_platform.cc:52] failed call to cuInit: INTERNAL: UNKNOWN ERROR (303)\n"
ERROR = b"E0000 00:00:1.5   7 anything.cc:1] failed\n"


def test_noise_is_left_out_and_all_else_told() -> None:
    assert list(worth_telling([EARLY, NO_DRIVERS, ERROR, EARLY, NO_DRIVERS, NO_GPU, b"x\n"])) == [ERROR, b"x\n"]


def test_a_gpu_that_fails_is_told_where_there_are_drivers() -> None:
    assert list(worth_telling([EARLY, NO_GPU])) == [NO_GPU]


FAKE = """
import os
class config:
    list_physical_devices = staticmethod(lambda kind: [])
os.write(2, {noise!r})
os.write(2, b"told at once\\n")
{last}
"""

SCRIPT = """
import sys
from transforms import startup_noise
startup_noise.install()
startup_noise.install()
print("before", file=sys.stderr)
try:
    import tensorflow
except ValueError as error:
    print(error, file=sys.stderr)
print("after", [finder for finder in sys.meta_path if "startup_noise" in repr(finder)], file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("last", "level", "expected"),
    [
        ("", "1", ["before", "told at once", "after []"]),
        ("raise ValueError('not today')", "1", ["before", "told at once", "not today", "after []"]),
        ("os.abort()", "1", ["before", "told at once"]),
        ("", "0", ["before", *(EARLY + NO_DRIVERS).decode().splitlines(), "told at once", "after []"]),
    ],
)
def test_the_import_of_tensorflow_is_filtered(tmp_path: Path, last: str, level: str, expected: list[str]) -> None:
    (tmp_path / "tensorflow.py").write_text(FAKE.format(noise=EARLY + NO_DRIVERS, last=last))
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "TF_CPP_MIN_LOG_LEVEL": level}
    ran = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, stderr=subprocess.PIPE, text=True)
    assert ran.stderr.splitlines() == expected
