"""Writing a trained model as a SavedModel, all of it or nothing.

What is in it is `trainer.served_model`, how it is described to people `trainer.export_description`, whether it answers
as it should `trainer.export_check`.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf

from materialized.plan import Plan
from materialized.store import Store
from trainer.definitions import load_assets
from trainer.errors import OutputError
from trainer.export_check import CheckReport, check_export
from trainer.export_description import describe
from trainer.served_model import ServedModel
from trainer.training import TrainedModel
from transforms.compiler import compile_nodes

DESCRIPTION = "assets.extra/forebay.json"
"""Where an export describes itself, inside its directory."""


def export_model(
    trained: TrainedModel, plan: Plan, store: Store, output: str | Path, *, check: bool = True
) -> CheckReport | None:
    """Writes a model as a SavedModel to ``output``, which appears whole, and checked, or not at all.

    Args:
      trained: the model.
      plan: a plan that has it; for the check, none of its columns may be missing in ``store``.
      store: where its statistics and its materialized columns are.
      output: a local directory that is not there yet, or is empty.
      check: whether the export is compared with the model and the store before it appears (`trainer.export_check`).

    Returns:
      What was compared, or None without the check.

    Raises:
      OutputError: there is something at ``output``.
      ExportError: the export answers differently.
      NotMaterializedError: the store lacks statistics, or columns to check with.
    """
    with new_directory(output) as directory:
        transform = compile_nodes(trained.bound.features, load_assets(trained.bound.features.values(), plan, store))
        served = ServedModel(trained.model, transform)
        write_saved_model(served, directory, describe(served, trained, plan))
        return check_export(directory, trained, plan, store) if check else None


def write_saved_model(served: ServedModel, directory: Path, description: Mapping[str, Any]) -> None:
    """Writes the SavedModel and what describes it into ``directory``."""
    tf.saved_model.save(served, str(directory), signatures=served.signatures())
    path = directory / DESCRIPTION
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(description, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@contextmanager
def new_directory(output: str | Path) -> Iterator[Path]:
    """A directory to fill, which is moved to ``output`` when the block ends, and removed when it fails.

    Raises:
      OutputError: there is something at ``output``, before the block or after it.
    """
    target = Path(output).absolute()
    require_free(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.parent / f".{target.name}.{uuid.uuid4().hex}"
        partial.mkdir()
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror}") from error
    try:
        yield partial
        require_free(target)
        partial.rename(target)  # replaces an empty directory, and nothing else
    finally:
        if partial.exists():
            shutil.rmtree(partial)


def require_free(output: str | Path) -> None:
    """Says so where an export could not be put.

    Raises:
      OutputError: ``output`` is there, and is not an empty directory.
    """
    target = Path(output)
    if target.is_dir():
        if any(target.iterdir()):
            raise OutputError(f"{target}: expected no directory or an empty one for the export, found one with files")
    elif target.exists() or target.is_symlink():
        raise OutputError(f"{target}: expected no directory or an empty one for the export, found a file")
