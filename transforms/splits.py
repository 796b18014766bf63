"""The column that says which rows are held out for evaluation, where a model splits by time or by the hash of a value.

Splits by chunks and by the position of a row need no column: the reader draws them.
"""

from __future__ import annotations

from datetime import datetime, timezone

from transforms.nodes import Node
from transforms.places import nearest
from transforms.problems import Problems
from transforms.scopes import Bound, Columns, Scope
from transforms.specs import (
    DatasetSpec,
    Evaluate,
    EvaluateChunks,
    EvaluateHash,
    EvaluateTime,
    Expression,
    ModelSpec,
)
from transforms.types import Shape

HASH_BUCKETS = 2**30
"""Values of `EvaluateHash.by` fall into so many buckets, so that a fraction is met to a billionth of the values."""


def bind_split(
    spec: ModelSpec, scope: Scope, columns: Columns, dataset: DatasetSpec | None, problems: Problems
) -> Node | None:
    """The node of bools, never null, that is true for rows held out; None where no column decides, or one is wrong."""
    evaluate = spec.train.evaluate
    if isinstance(evaluate, EvaluateTime):
        return _by_time(evaluate, spec, scope, columns, dataset, problems)
    if isinstance(evaluate, EvaluateHash) and evaluate.by is not None:
        return _by_hash(evaluate, evaluate.by, scope)
    return None


def _by_time(
    evaluate: EvaluateTime,
    spec: ModelSpec,
    scope: Scope,
    columns: Columns,
    dataset: DatasetSpec | None,
    problems: Problems,
) -> Node | None:
    model, place = f"model {spec.model!r}", evaluate.place or spec.place
    if dataset is None or dataset.time is None:
        where = "" if dataset is None else f"; {dataset.place or dataset.name} should say `time: COLUMN`"
        problems.add(place, f"{model} evaluates by time, and the dataset names no column of time{where}")
        return None
    time = columns.schema.get(dataset.time)
    if time is None:
        hint = nearest(dataset.time, columns.schema)
        problems.add(dataset.place, f"{model} evaluates by time: the log has no column {dataset.time!r}{hint}")
        return None
    if not time.is_number or time.shape is not Shape.SCALAR:
        expected = "expected a number (seconds since 1970-01-01 UTC, say)"
        problems.add(dataset.place, f"{model} evaluates by time: {expected}, found {dataset.time!r} of type {time}")
        return None
    since = since_number(evaluate)
    if since is None:
        expected = "expected a number, or a date or time like 2024-05-31 or 2024-05-31T12:00:00Z"
        problems.add(place, f"{model} evaluates by time: {expected}, found {evaluate.since!r}")
        return None
    expression = Expression(f"{dataset.time} >= {since}", place)
    return _held_out("greater_equal", columns.raw(dataset.time), Bound.literal(since), scope, expression)


def _by_hash(evaluate: EvaluateHash, by: Expression, scope: Scope) -> Node | None:
    bound = scope.bind(by, "evaluate by")
    if bound is None:
        return None
    if not bound.varies or bound.node.type.shape is not Shape.SCALAR:
        found = bound.node.type if bound.varies else "the same value in all rows"
        scope.refuse(by, "evaluate by", f"expected one value a row that depends on a column of the log, found {found}")
        return None
    buckets, salt = Bound.literal(HASH_BUCKETS), Bound.literal(f"evaluate {evaluate.seed}")
    bucket = scope.call("hash", (bound,), by, "evaluate by", buckets=buckets, salt=salt)
    if bucket is None:
        return None
    return _held_out("less", bucket, Bound.literal(round(evaluate.fraction * HASH_BUCKETS)), scope, by)


def _held_out(operator: str, left: Bound, right: Bound, scope: Scope, expression: Expression) -> Node | None:
    held_out = scope.call(operator, (left, right), expression, "evaluate")
    if held_out is not None and held_out.node.type.nullable:  # a row without a time or a key is trained on
        held_out = scope.call("fill", (held_out, Bound.literal(False)), expression, "evaluate")
    return None if held_out is None else held_out.node


def since_number(evaluate: EvaluateTime) -> int | float | None:
    """From which value of the time column on rows are held out, or None where the text is neither date nor time."""
    return _seconds(evaluate.since) if isinstance(evaluate.since, str) else evaluate.since


def written(evaluate: Evaluate | None) -> str:
    """What is held out, for messages: nearly as a spec has it."""
    match evaluate:
        case None:
            return "nothing"
        case EvaluateChunks():
            return f"chunks {evaluate.chunks!r}"
        case EvaluateTime():
            return f"time since {evaluate.since}"
        case EvaluateHash():
            by = "row position" if evaluate.by is None else evaluate.by.text
            return f"a fraction of {evaluate.fraction} by hash of {by}"


def _seconds(text: str) -> int | float | None:
    """Seconds since 1970-01-01 UTC of an ISO 8601 date or time, or None where ``text`` is none."""
    try:
        moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    seconds = (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
    return int(seconds) if seconds.is_integer() else seconds
