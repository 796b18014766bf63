"""Whether labels and weights can be trained on, looked at once when they have been materialized.

A label may be of a nullable type, but not null in a row that the filter keeps; nor may it lie outside [0, 1]. A weight
may be neither null, nor negative, nor infinite or NaN. What is wrong is counted over all chunks, and the first row of
each file that has it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from materialized.chunk_files import read_columns
from materialized.chunks import ChunkEntry
from materialized.errors import LabelError
from materialized.inventory import Inventory
from materialized.store import Store
from transforms.types import ColumnType

_NAMED_FILES = 5

Rows = npt.NDArray[np.bool_]


def check_labels(
    store: Store, entries: Sequence[ChunkEntry], columns: Mapping[str, tuple[str, ColumnType]], model: str
) -> int:
    """Looks at the label and the weight of every row that the filter of ``model`` keeps.

    Args:
      store: where the columns are.
      entries: the manifest's entries; a chunk that is there twice is counted twice.
      columns: identity and type by role: ``label``, and where there are any ``weight`` and ``filter``; others are
        ignored.
      model: the model's name, for messages.

    Returns:
      The number of rows that the filter keeps.

    Raises:
      LabelError: some cannot be trained on; says how many and where.
      NotMaterializedError: a column is not there.
    """
    roles = {role: columns[role] for role in ("label", "weight", "filter") if role in columns}
    inventory = Inventory(store)
    found: dict[str, list[tuple[ChunkEntry, int, Rows]]] = {}
    kept = labels = 0
    firsts = _first_rows(entries)
    for entry, first in zip(entries, firsts, strict=True):
        types = {identity: column_type for identity, column_type in roles.values()}
        read = read_columns(store, entry.chunk, types, inventory)
        table = pa.table([read.column(identity) for identity, _ in roles.values()], names=list(roles))
        keep = np.ones(table.num_rows, np.bool_)
        if "filter" in roles:
            keep = table.column("filter").fill_null(False).to_numpy()
        kept += int(np.count_nonzero(keep))
        labels += int(np.count_nonzero(keep & table.column("label").is_valid().to_numpy()))
        for problem, rows in _problems(table):
            if np.any(rows & keep):
                found.setdefault(problem, []).append((entry, first, rows & keep))
    if kept and not labels:
        raise LabelError(f"model {model!r}: the label is null in all {kept} rows that the filter keeps")
    if found:
        raise LabelError(
            "\n".join(f"model {model!r}: {_described(problem, found[problem], kept)}" for problem in found)
        )
    return kept


def _first_rows(entries: Sequence[ChunkEntry]) -> list[int]:
    """For each entry, the number of its first row in its source file."""
    ends: dict[str, int] = {}
    firsts = []
    for entry in entries:
        firsts.append(ends.get(entry.source, 0))
        ends[entry.source] = firsts[-1] + (entry.rows or 0)
    return firsts


def _problems(table: pa.Table) -> Iterator[tuple[str, Rows]]:
    tests: Mapping[str, Callable[[npt.NDArray[np.float64]], Rows]] = {
        "label": lambda values: ~((values >= 0) & (values <= 1)),
        "weight": lambda values: ~((values >= 0) & (values < np.inf)),
    }
    expected = {"label": "not in [0, 1]", "weight": "negative, infinite or NaN"}
    for role, wrong in tests.items():
        if role not in table.column_names:
            continue
        column = table.column(role)
        valid = column.is_valid().to_numpy()
        yield f"the {role} is null", ~valid
        values = column.fill_null(0).to_numpy().astype(np.float64)
        yield f"the {role} is {expected[role]}", wrong(values) & valid


def _described(problem: str, places: Sequence[tuple[ChunkEntry, int, Rows]], kept: int) -> str:
    total = sum(int(np.count_nonzero(rows)) for _, _, rows in places)
    named = [
        f"{entry}: {_counted(rows)}, the first is row {first + int(np.argmax(rows))}"
        for entry, first, rows in places[:_NAMED_FILES]
    ]
    rest = [f"and in {len(places) - _NAMED_FILES} more chunks"] if len(places) > _NAMED_FILES else []
    return f"{problem} in {total} of {kept} rows that the filter keeps (rows count from 0)\n  " + "\n  ".join(
        [*named, *rest]
    )


def _counted(rows: Rows) -> str:
    number = int(np.count_nonzero(rows))
    return f"{number} row" if number == 1 else f"{number} rows"
