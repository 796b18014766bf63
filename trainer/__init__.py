"""How shared columns are used: tables, engines, networks, the training loop, checkpoints, evaluation and export.

Public: `train` trains a model of a plan and `load_trained` loads one, both as a `TrainedModel`; `Options` say how it is
run, `Metrics` how good it is; `export_model` writes a SavedModel and `check_export` checks one. What an embedding
engine has to give is `trainer.engines.contract`; errors are in `trainer.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transforms.public import names_of

if TYPE_CHECKING:
    from trainer.export import export_model
    from trainer.export_check import CheckReport, check_export
    from trainer.loop import Options
    from trainer.metrics import Metrics
    from trainer.training import TrainedModel, load_trained, train
else:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "export": "export_model",
            "export_check": "CheckReport check_export",
            "loop": "Options",
            "metrics": "Metrics",
            "training": "TrainedModel load_trained train",
        },
    )

__all__ = ["CheckReport", "Metrics", "Options", "TrainedModel", "check_export", "export_model", "load_trained", "train"]
