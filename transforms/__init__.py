"""What to compute: model specs, expressions and operators, the feature graph, and its compiler to TensorFlow.

Public: the specs (`ModelSpec` and what it is made of, `DatasetSpec`), reading them from YAML (`load_models`,
`load_dataset`), binding them to a log's columns (`bind_all`), the merged graph (`FeatureGraph`), a function of nodes
(`compile_nodes`), and the two errors that everything foreseen derives from. Further errors are in `transforms.errors`,
operators in `transforms.operators`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transforms.public import names_of

if TYPE_CHECKING:
    from transforms.binding import BoundModel, bind, bind_all
    from transforms.compiler import Transform, compile_nodes
    from transforms.errors import ForebayError, InputError
    from transforms.graph import Component, FeatureGraph
    from transforms.nodes import Node
    from transforms.spec_files import load_dataset, load_model, load_models
    from transforms.specs import (
        Adagrad,
        DatasetSpec,
        DcnV2,
        DenseFeature,
        Dlrm,
        EvaluateChunks,
        EvaluateHash,
        EvaluateTime,
        Expression,
        IdFeature,
        Mlp,
        ModelSpec,
        Sgd,
        TableSpec,
        Train,
    )
    from transforms.types import ColumnType, DType, Shape
else:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "binding": "BoundModel bind bind_all",
            "compiler": "Transform compile_nodes",
            "errors": "ForebayError InputError",
            "graph": "Component FeatureGraph",
            "nodes": "Node",
            "spec_files": "load_dataset load_model load_models",
            "specs": (
                "Adagrad DatasetSpec DcnV2 DenseFeature Dlrm EvaluateChunks EvaluateHash EvaluateTime Expression "
                "IdFeature Mlp ModelSpec Sgd TableSpec Train"
            ),
            "types": "ColumnType DType Shape",
        },
    )

__all__ = [
    "Adagrad",
    "BoundModel",
    "ColumnType",
    "Component",
    "DType",
    "DatasetSpec",
    "DcnV2",
    "DenseFeature",
    "Dlrm",
    "EvaluateChunks",
    "EvaluateHash",
    "EvaluateTime",
    "Expression",
    "FeatureGraph",
    "ForebayError",
    "IdFeature",
    "InputError",
    "Mlp",
    "ModelSpec",
    "Node",
    "Sgd",
    "Shape",
    "TableSpec",
    "Train",
    "Transform",
    "bind",
    "bind_all",
    "compile_nodes",
    "load_dataset",
    "load_model",
    "load_models",
]
