"""A room's public names, each imported from its module when it is first asked for (PEP 562).

So a room says what is public in one place, and importing one of its modules still costs what that module costs:
`forebay plan` goes through every room's ``__init__`` and needs neither TensorFlow nor Beam.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def names_of(room: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A room's ``__getattr__`` and ``__dir__``.

    Args:
      room: name of the package.
      modules: the public names that each of its modules defines, with blanks between them.
    """
    home = {name: f"{room}.{module}" for module, names in modules.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(home[name]), name)
        setattr(sys.modules[room], name, value)  # the next look-up does not come here
        return value

    return find, lambda: sorted({*vars(sys.modules[room]), *home})
