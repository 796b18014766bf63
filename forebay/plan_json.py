"""A plan as JSON, for other programs.

The object has these keys; identities are 64 hexadecimal digits, and lists are in a fixed order:

* ``version``: 1; another number when a key changes its meaning.
* ``dataset``: ``name``, and ``chunks``: a list of ``chunk``, ``source``, ``ordinal``, ``parts``, ``rows`` (null for
  text that has not been ingested), one for each entry of the manifest.
* ``window``: ``generation``, ``identity`` and ``chunks`` of the statistics.
* ``hits``: ``requested`` (model, column, chunk), ``computed`` (column, chunk), ``rate``.
* ``models``: a list of ``model``, ``features``, ``nodes``, ``components``, ``columns``, ``requested``, ``missing``.
* ``total``: the same of all models merged, and ``nodes_before_merging``.
* ``graph``: ``nodes`` and ``outputs`` as `FeatureGraph.to_json` writes them; a node has ``column`` (what its values are
  called in the store), ``expression`` and ``models`` besides.
* ``components``: a list of ``identity``, ``nodes``, ``models``, and ``outputs`` as pairs of model and role.
* ``statistics``: a list of ``node``, ``asset`` (what the result is called in the store) and ``there``.
* ``columns``: a list of ``column``, ``node``, ``type``, ``labels`` (``model.role``) and ``missing``: a list of
  ``kind``, ``text``, ``symbol``, ``like`` and ``chunks``; a column that no chunk lacks has an empty one.
* ``warnings``: a list of texts.
"""

from __future__ import annotations

import json
from typing import Any

from forebay.plan_summary import Row, Summary
from materialized.plan import Plan
from transforms.difference import Reason, describe

VERSION = 1


def plan_as_json(plan: Plan) -> str:
    """The text of ``plan``."""
    summary = Summary.of(plan)
    content = {
        "version": VERSION,
        "dataset": {"name": plan.dataset.name, "chunks": _chunks(plan)},
        "window": {
            "generation": plan.window.generation,
            "identity": plan.window.identity,
            "chunks": list(plan.window.chunks),
        },
        "hits": {"requested": plan.hits.requested, "computed": plan.hits.computed, "rate": plan.hits.rate},
        "models": [_row(row) for row in summary.models],
        "total": {**_row(summary.total), "nodes_before_merging": summary.nodes_before},
        "graph": _graph(plan),
        "components": [
            {
                "identity": part.identity,
                "nodes": [node.identity for node in part.nodes],
                "models": list(part.models),
                "outputs": [list(output) for output in part.outputs],
            }
            for part in plan.graph.components()
        ],
        "statistics": [
            {"node": node.identity, "asset": asset, "there": asset not in plan.missing_assets}
            for level in plan.graph.analyzer_levels()
            for node in level
            for asset in [plan.identities[node.identity]]
        ],
        "columns": _columns(plan),
        "warnings": list(plan.warnings),
    }
    return json.dumps(content, indent=1) + "\n"


def _chunks(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "chunk": entry.chunk,
            "source": entry.source,
            "ordinal": entry.ordinal,
            "parts": entry.parts,
            "rows": entry.rows,
        }
        for entry in plan.manifest.entries
    ]


def _row(row: Row) -> dict[str, Any]:
    return {
        "model": row.name,
        "features": row.features,
        "nodes": row.nodes,
        "components": row.components,
        "columns": row.columns,
        "requested": row.requested,
        "missing": row.missing,
    }


def _graph(plan: Plan) -> dict[str, Any]:
    graph = plan.graph.to_json()
    for item in graph["nodes"]:
        identity = item["identity"]
        item["column"] = plan.identities[identity]
        item["expression"] = describe(plan.graph.node(identity), 1000)
        item["models"] = list(plan.graph.models_of(identity))
    return graph


def _columns(plan: Plan) -> list[dict[str, Any]]:
    chunks: dict[str, dict[Reason, list[str]]] = {}
    for (column, chunk), reason in plan.reasons.items():
        chunks.setdefault(column, {}).setdefault(reason, []).append(chunk)
    return [
        {
            "column": column.identity,
            "node": column.node.identity,
            "type": str(column.type),
            "labels": list(column.labels),
            "missing": [
                {
                    "kind": reason.kind.value,
                    "text": reason.text,
                    "symbol": reason.symbol,
                    "like": reason.like,
                    "chunks": found,
                }
                for reason, found in chunks.get(column.identity, {}).items()
            ],
        }
        for column in plan.columns.values()
    ]
