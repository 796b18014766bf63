"""What all tests run under: quiet libraries, and properties judged by what they say, not by how long they take."""

from __future__ import annotations

import os

import hypothesis
import pytest

# Before anything imports TensorFlow: its start-up messages, and a look for accelerators that tests do not use.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

# The first example of a property may build a TensorFlow function, which takes longer than any deadline for the others.
hypothesis.settings.register_profile(
    "forebay", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.load_profile("forebay")

SLOW_FILES = ("test_packaging.py", "test_clicks.py", "test_line.py", "test_export.py", "test_job.py", "test_loop.py")
"""Files that take minutes, the slowest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow files first: beside each other, processes then end at about the same time."""
    places = {name: place for place, name in enumerate(SLOW_FILES)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))
