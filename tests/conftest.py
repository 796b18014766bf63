"""What all tests run under: quiet libraries, and properties judged by what they say, not by how long they take."""

from __future__ import annotations

import os

import hypothesis

# Before anything imports TensorFlow: its start-up messages, and a look for accelerators that tests do not use.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

# The first example of a property may build a TensorFlow function, which takes longer than any deadline for the others.
hypothesis.settings.register_profile(
    "forebay", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.load_profile("forebay")
