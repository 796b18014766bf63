"""Where everything lies in a store: the one place that makes keys.

A key is a path relative to the store, with ``/`` between its parts. Every variable part is a digest or a number, except
the names of an asset's files, which are Forebay's own: no name from a spec or from the log becomes a path.
"""

from __future__ import annotations

import string

from transforms.canonical import digest

FORMAT = 1
"""The version of the layout and of all files in it. A store of another version is refused."""

STORE_FILE = "store.json"
TEMPORARY = "tmp"
"""Folder of files that are being written. Nothing ever reads from it."""

_DIGEST_CHARACTERS = frozenset(string.hexdigits.lower())


def _digest(text: str) -> str:
    if len(text) < 16 or not set(text) <= _DIGEST_CHARACTERS:
        raise ValueError(f"a key is made of digests, got {text!r}")
    return text


def manifests(dataset: str) -> str:
    """Folder of the manifests of the dataset named ``dataset``."""
    return f"datasets/{digest(dataset)}"


def manifest(dataset: str, number: int) -> str:
    """Key of manifest ``number`` of ``dataset``."""
    return f"{manifests(dataset)}/{number:08d}.json"


def source_digest(place: str) -> str:
    """Key under which the digest of a source file's bytes is remembered; ``place`` is a digest of where it lies."""
    return f"sources/{_digest(place)}.json"


def raw_chunk(chunk: str) -> str:
    """Key of the ingested raw rows of ``chunk``."""
    return f"raw/{_digest(chunk)}.parquet"


def groups() -> str:
    """Folder of the descriptors of write groups."""
    return "groups"


def group(group: str) -> str:
    """Key of the descriptor of write group ``group``."""
    return f"{groups()}/{_digest(group)}.json"


def chunk_files(chunk: str) -> str:
    """Folder of the materialized files of ``chunk``."""
    return f"chunks/{_digest(chunk)}"


def chunk_file(chunk: str, group: str, suffix: str) -> str:
    """Key of the file of ``chunk`` with the columns of ``group``; ``suffix`` is its format's."""
    return f"{chunk_files(chunk)}/{_digest(group)}.{suffix}"


def partials(accumulator: str) -> str:
    """Folder of the partial results of ``accumulator``."""
    return f"partials/{_digest(accumulator)}"


def partial(accumulator: str, chunk: str) -> str:
    """Key of the partial result of ``accumulator`` over ``chunk``."""
    return f"{partials(accumulator)}/{_digest(chunk)}"


def asset_file(analyzer: str, name: str) -> str:
    """Key of a file of the asset that ``analyzer`` (a column identity, window included) found."""
    return f"assets/{_digest(analyzer)}/{name}"


def pins(dataset: str) -> str:
    """Folder of the pinned windows of ``dataset``."""
    return f"pins/{digest(dataset)}"


def pin(dataset: str, generation: int) -> str:
    """Key of pinned window ``generation`` of ``dataset``."""
    return f"{pins(dataset)}/{generation:08d}.json"
