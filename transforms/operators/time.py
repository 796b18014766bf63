"""Operators on times: int64 seconds since 1970-01-01 00:00 UTC, read in UTC by the Gregorian calendar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from transforms.assets import Asset
from transforms.lazy import tf
from transforms.nodes import Node
from transforms.operators.arguments import INTEGERS, SCALAR_OR_LIST, Operand
from transforms.operators.base import IdSpace, Operator, Parameters
from transforms.operators.elementwise import Elementwise
from transforms.types import DType

_DAY_SECONDS = 86_400


class _PartOfTime(Elementwise):
    arguments = (Operand("seconds", INTEGERS, SCALAR_OR_LIST),)
    space: ClassVar[int]

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        return DType.INT64

    def id_space(self, node: Node, asset: Asset | None, of: IdSpace) -> int | None:
        return self.space


class Hour(_PartOfTime):
    """The hour of the day, 0 to 23.

    Example:
      t: nullable int64 = [0, 86399, -1, None]
      hour(t) = [0, 23, 23, None]
    """

    name = "hour"
    space = 24

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return tf.math.floormod(values[0], _DAY_SECONDS) // 3600


class Weekday(_PartOfTime):
    """The day of the week, Monday 0 to Sunday 6.

    Example:
      t: int64 = [0, 345600, -86400]
      weekday(t) = [3, 0, 2]
    """

    name = "weekday"
    space = 7

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return tf.math.floormod(values[0] // _DAY_SECONDS + 3, 7)  # the first day was a Thursday


class Day(_PartOfTime):
    """The day of the month, 1 to 31.

    Example:
      t: int64 = [0, 951782400, -1]
      day(t) = [1, 29, 31]
    """

    name = "day"
    space = 32

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return _month_and_day(values[0])[1]


class Month(_PartOfTime):
    """The month, 1 to 12.

    Example:
      t: int64 = [0, 951782400, -1]
      month(t) = [1, 2, 12]
    """

    name = "month"
    space = 13

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return _month_and_day(values[0])[0]


def _month_and_day(seconds: Any) -> tuple[Any, Any]:
    """Month and day, by years that begin in March: leap days then come last, and months have a regular length."""
    day = tf.math.floormod(seconds // _DAY_SECONDS + 719_468, 146_097)  # of the 400-year cycle from 0000-03-01
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    of_year = day - (365 * year + year // 4 - year // 100)
    march_month = (5 * of_year + 2) // 153
    return tf.math.floormod(march_month + 2, 12) + 1, of_year - (153 * march_month + 2) // 5 + 1


OPERATORS: tuple[type[Operator], ...] = (Hour, Weekday, Day, Month)
