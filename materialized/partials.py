"""Partial results of analyzers: bytes, by accumulator and chunk.

What the bytes mean is the accumulator's business; its identity contains everything that they depend on besides the
chunk, its version included, so that what is found here can always be used.
"""

from __future__ import annotations

from materialized import layout
from materialized.store import Store


def write_partial(store: Store, accumulator: str, chunk: str, data: bytes) -> bool:
    """Keeps the partial result of ``accumulator`` over ``chunk``; says whether it was not there before."""
    return store.write_once(layout.partial(accumulator, chunk), data)


def read_partial(store: Store, accumulator: str, chunk: str) -> bytes | None:
    """The partial result of ``accumulator`` over ``chunk``, or None."""
    try:
        return store.read(layout.partial(accumulator, chunk))
    except FileNotFoundError:
        return None


def partial_chunks(store: Store, accumulator: str) -> frozenset[str]:
    """The chunks over which ``accumulator`` has a partial result."""
    return frozenset(key.rpartition("/")[2] for key in store.list(layout.partials(accumulator)))
