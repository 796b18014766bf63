"""Windows: the chunks over which statistics are computed, pinned for the whole store in numbered generations.

A model that is added later shares today's vocabularies because the window that is current is pinned, not recomputed. A
refresh pins a new generation. Pins are created once and never rewritten; the highest number is the current one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from materialized import layout
from materialized.chunks import Manifest
from materialized.errors import MismatchError
from materialized.store import Store
from transforms.canonical import digest
from transforms.specs import DatasetSpec


@dataclass(frozen=True)
class Window:
    """An ordered run of chunks.

    Attributes:
      generation: number of the pin, from 1.
      chunks: chunk identities in manifest order; a chunk that the manifest has twice is here twice.
    """

    generation: int
    chunks: tuple[str, ...]

    @property
    def identity(self) -> str:
        """Digest of the chunks in order. The generation is no part of it: equal windows find equal statistics."""
        return digest({"window": list(self.chunks)})


def proposed_window(dataset: DatasetSpec, manifest: Manifest, generation: int = 1) -> Window:
    """What would be pinned now: the dataset's `statistics` slice of ``manifest``."""
    return Window(generation, tuple(entry.chunk for entry in manifest.slice(dataset.statistics)))


def pinned_window(store: Store, dataset: DatasetSpec) -> Window | None:
    """The newest generation that is pinned, or None."""
    keys = store.list(layout.pins(dataset.name))
    if not keys:
        return None
    data = store.read(keys[-1])
    try:
        content = json.loads(data)
        return Window(int(content["generation"]), tuple(content["chunks"]))
    except (ValueError, KeyError, TypeError) as error:
        raise MismatchError(f"{store.path}/{keys[-1]}: expected a pinned window, found {data[:80]!r}") from error


def current_window(store: Store | None, dataset: DatasetSpec, manifest: Manifest) -> Window:
    """The pinned window, or where there is none (or no store), what `pin` would pin."""
    pinned = None if store is None else pinned_window(store, dataset)
    return pinned or proposed_window(dataset, manifest)


def pin(store: Store, dataset: DatasetSpec, window: Window) -> Window:
    """Pins ``window`` under its generation.

    Returns:
      The window that is pinned under that generation: another one where another process was first.
    """
    content = {"generation": window.generation, "identity": window.identity, "chunks": window.chunks}
    store.write_once(layout.pin(dataset.name, window.generation), json.dumps(content, indent=1).encode())
    found = json.loads(store.read(layout.pin(dataset.name, window.generation)))
    return Window(int(found["generation"]), tuple(found["chunks"]))


def next_generation(store: Store, dataset: DatasetSpec, manifest: Manifest) -> Window:
    """Pins what the dataset's `statistics` slice says now as a new generation.

    Returns:
      The window that is current afterwards: the pinned one, where it already has these very chunks.
    """
    pinned = pinned_window(store, dataset)
    proposed = proposed_window(dataset, manifest, 1 if pinned is None else pinned.generation + 1)
    if pinned is not None and pinned.chunks == proposed.chunks:
        return pinned
    return pin(store, dataset, proposed)
