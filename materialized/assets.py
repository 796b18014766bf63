"""Assets in the store: what analyzers found, with the window they saw.

An asset is a few files and a marker. The files are named by their content and go first; the marker names them and
commits the asset. So two writers at once cannot mix their files, and what a marker names is whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from materialized import layout
from materialized.errors import MismatchError, NotMaterializedError
from materialized.pins import Window
from materialized.store import Store
from transforms.assets import Asset, read_asset

_MARKER = "asset.json"


@dataclass(frozen=True)
class StoredAsset:
    """An asset and where it comes from.

    Attributes:
      asset: what was found.
      window: the chunks that were seen.
      counts: what was counted on the way, by name: rows, nulls and the like; for people.
    """

    asset: Asset
    window: Window
    counts: Mapping[str, int]


def has_asset(store: Store, analyzer: str) -> bool:
    """Whether the store has what ``analyzer`` (a column identity, its window included) found."""
    return store.exists(layout.asset_file(analyzer, _MARKER))


def save_asset(
    store: Store, analyzer: str, asset: Asset, window: Window, counts: Mapping[str, int] | None = None
) -> bool:
    """Commits what ``analyzer`` found; says whether this call did, or it was there before and stays."""
    files = {}
    for name, data in sorted(asset.to_files().items()):
        content = hashlib.sha256(data).hexdigest()
        files[name] = {"file": f"{content[:16]}.{name}", "sha256": content}
        store.write_once(layout.asset_file(analyzer, str(files[name]["file"])), data)
    marker = {
        "kind": asset.kind,
        "files": files,
        "window": {"generation": window.generation, "identity": window.identity, "chunks": window.chunks},
        "counts": dict(counts or {}),
    }
    return store.write_once(layout.asset_file(analyzer, _MARKER), json.dumps(marker, indent=1).encode())


def load_asset(store: Store, analyzer: str) -> StoredAsset:
    """What ``analyzer`` found.

    Raises:
      NotMaterializedError: it is not there.
      MismatchError: a file of it is not the one that was committed.
    """
    key = layout.asset_file(analyzer, _MARKER)
    place = f"{store.path}/{key}"
    try:
        data = store.read(key)
    except FileNotFoundError as error:
        raise NotMaterializedError(f"{place}: the statistics of analyzer {analyzer} have not been computed") from error
    try:
        marker = json.loads(data)
        window = Window(int(marker["window"]["generation"]), tuple(marker["window"]["chunks"]))
        files = {name: (file["file"], file["sha256"]) for name, file in marker["files"].items()}
        kind, counts = marker["kind"], dict(marker["counts"])
    except (ValueError, KeyError, TypeError) as error:
        raise MismatchError(f"{place}: expected the marker of an asset, found {data[:80]!r}") from error
    contents = {name: _read(store, layout.asset_file(analyzer, file), sha) for name, (file, sha) in files.items()}
    return StoredAsset(read_asset(kind, contents), window, counts)


def _read(store: Store, key: str, expected: str) -> bytes:
    try:
        data = store.read(key)
    except FileNotFoundError as error:
        raise MismatchError(f"{store.path}/{key}: expected a file of an asset, found nothing") from error
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise MismatchError(f"{store.path}/{key}: expected content {expected}, found {found}")
    return data
