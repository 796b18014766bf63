"""How columns get computed: reading text logs, statistics and materialization, as Beam jobs.

Public: `run` computes whatever models ask for and a store lacks, `RunnerOptions` says on what, `Summary` what was done;
`Ingest` and `Materialize` are the PTransforms, for pipelines of one's own. Errors are in `pipelines.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transforms.public import names_of

if TYPE_CHECKING:
    from pipelines.ingest import Ingest
    from pipelines.job import Summary, run
    from pipelines.materialize import Materialize
    from pipelines.runner import RunnerOptions
else:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "ingest": "Ingest",
            "job": "Summary run",
            "materialize": "Materialize",
            "runner": "RunnerOptions",
        },
    )

__all__ = ["Ingest", "Materialize", "RunnerOptions", "Summary", "run"]
