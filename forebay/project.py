"""What every verb begins with: specs and dataset read and bound, the store found, the plan made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from materialized.errors import NotAStoreError
from materialized.log_files import find_files
from materialized.pins import Window
from materialized.plan import Plan, make_plan
from materialized.read_only import look_at_store
from materialized.sources import current_manifest, raw_schema
from materialized.store import Store
from transforms.binding import BoundModel, bind_all
from transforms.spec_files import load_dataset, load_models
from transforms.specs import DatasetSpec


@dataclass(frozen=True)
class Project:
    """Models over a log, and a store.

    Attributes:
      models: the bound models, in the order given.
      dataset: the log's description.
      store: the store, or None where there is none yet.
      plan: what the models ask for, and what of it the store has, when the project was opened.
    """

    models: tuple[BoundModel, ...]
    dataset: DatasetSpec
    store: Store | None
    plan: Plan

    def plan_again(self, window: Window | None = None) -> Plan:
        """The plan as the log's files and the store are now; ``window`` as in `make_plan`."""
        manifest = current_manifest(self.dataset, self.store)
        return make_plan(self.models, self.dataset, manifest, self.store, window)


def open_project(
    models: Sequence[str], data: str, store: str, *, must_exist: bool = False, create: bool = False
) -> Project:
    """Reads what a verb is given. Nothing is written, except with ``create``.

    Args:
      models: paths of model specs.
      data: path of the dataset file.
      store: path or URI of the store.
      must_exist: whether a store that is not there is an error.
      create: whether the store is to be written: it is made where there is none, and must be writable.

    Returns:
      The project; its store refuses writes unless ``create``.

    Raises:
      InputError: any of it is wrong; the message says what and where.
    """
    specs = load_models(models)
    dataset = load_dataset(data)
    bound = bind_all(specs, raw_schema(dataset), dataset)
    opened = look_at_store(store)
    if opened is None and must_exist:
        raise NotAStoreError(f"{store}: expected a store, found nothing; `forebay materialize` makes one")
    if create:
        find_files(dataset)  # a log without files leaves no store behind
        opened = Store.create(store)
        opened.require_writable()
    return Project(bound, dataset, opened, make_plan(bound, dataset, current_manifest(dataset, opened), opened))
