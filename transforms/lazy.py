"""TensorFlow, imported when it is first used: planning and ``--help`` never pay for it."""

from __future__ import annotations

import importlib
from typing import Any


class _LazyModule:
    """Stands for a module and imports it when one of its names is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)  # the next look-up does not come here
        return value


tf: Any = _LazyModule("tensorflow")
