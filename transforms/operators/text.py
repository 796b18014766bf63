"""Operators on text. Text is UTF-8; what is not stays as the bytes it is where that has a meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from transforms.lazy import tf
from transforms.nodes import Node
from transforms.operators.arguments import SCALAR_OR_LIST, TEXT, Operand, Parameter
from transforms.operators.base import Operator, Parameters
from transforms.operators.elementwise import Elementwise
from transforms.types import ColumnType, DType, Shape

if TYPE_CHECKING:
    from transforms.values import Value as Column


class _Text(Elementwise):
    """Text of text."""

    arguments: ClassVar[tuple[Operand | Parameter, ...]] = (Operand("x", TEXT, SCALAR_OR_LIST),)

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        return DType.STRING


def _with_nul(function: Callable[[Any], Any], texts: Any) -> Any:
    """``function``, which reads a text up to its first NUL only, of whole texts; those with a NUL are rare."""

    def in_parts() -> Any:
        parts = tf.strings.split(tf.reshape(texts, [-1]), sep="\0")
        ended = parts.with_values(tf.strings.join([function(parts.values), tf.constant("\0")]))
        joined = tf.strings.reduce_join(ended, axis=-1)
        lengths = tf.strings.length(joined)
        return tf.reshape(tf.strings.substr(joined, tf.zeros_like(lengths), lengths - 1), shape)

    shape = tf.shape(texts)
    nul = tf.reduce_any(tf.equal(tf.io.decode_raw(tf.strings.reduce_join(texts), tf.uint8), 0))
    found = tf.cond(nul, in_parts, lambda: function(texts))
    return tf.ensure_shape(found, texts.shape)


class Lower(_Text):
    """Text in lower case, by Unicode's rules; bytes that are no UTF-8 become U+FFFD.

    Example:
      x: nullable string = ["Große ÉTÉ", "", None]
      lower(x) = ["große été", "", None]
    """

    name = "lower"

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return _with_nul(lambda texts: tf.strings.lower(texts, encoding="utf-8"), values[0])


class Upper(_Text):
    """Text in upper case, by Unicode's rules; bytes that are no UTF-8 become U+FFFD.

    Example:
      x: list<string> = [["straße", "a1"], []]
      upper(x) = [["STRASSE", "A1"], []]
    """

    name = "upper"

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return _with_nul(lambda texts: tf.strings.upper(texts, encoding="utf-8"), values[0])


class Strip(_Text):
    r"""Text without the ASCII white space around it.

    Example:
      x: string = [" a b\t", "", "\n"]
      strip(x) = ["a b", "", ""]
    """

    name = "strip"

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return tf.strings.strip(values[0])


class Concat(_Text):
    """Texts one after the other.

    Example:
      x: nullable string = ["a", None]
      y: string = ["b", "c"]
      concat(x, "-", y) = ["a-b", None]
      concat(x, y, separator=", ") = ["a, b", None]
    """

    name = "concat"
    arguments = (Operand("x", TEXT, SCALAR_OR_LIST, repeated=True), Parameter("separator", "text", ""))

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return tf.strings.join(list(values), separator=str(node.parameters["separator"]))


class Length(Elementwise):
    """How many characters (code points) a text has.

    Example:
      x: string = ["été", "", "a b"]
      length(x) = [3, 0, 3]
    """

    name = "length"
    arguments: ClassVar[tuple[Operand | Parameter, ...]] = (Operand("x", TEXT, SCALAR_OR_LIST),)

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        return DType.INT64

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return tf.cast(tf.strings.length(values[0], unit="UTF8_CHAR"), tf.int64)


class Tokens(Operator):
    """The parts of a text between separators, in order; empty parts are left out.

    Without a separator, ASCII white space separates. A missing text has no tokens; a list's texts give one list.

    Example:
      x: nullable string = ["a  big cat", "", None]
      tokens(x) = [["a", "big", "cat"], [], []]
      y: list<string> = [["1|2", "3"], ["||"]]
      tokens(y, "|") = [["1", "2", "3"], []]
    """

    name = "tokens"
    arguments = (Operand("x", TEXT, SCALAR_OR_LIST), Parameter("separator", "text", None))

    def result_type(self, inputs: Sequence[Node], parameters: Parameters) -> ColumnType:
        return ColumnType(DType.STRING, Shape.RAGGED)

    def kernel(self, inputs: Sequence[Column], node: Node, asset: Any) -> Column:
        from transforms.values import split

        separator = node.parameters["separator"] or None  # tf.strings.split takes "" for white space
        texts = inputs[0]
        if isinstance(texts, tf.RaggedTensor):
            parts = tf.strings.split(texts.values, sep=separator)
            tokens = tf.RaggedTensor.from_row_splits(
                parts.values, tf.gather(parts.row_splits, texts.row_splits), validate=False
            )
        else:
            tokens = tf.strings.split(split(texts)[0], sep=separator)  # missing texts are empty: no tokens
        return tokens if separator is None else tf.ragged.boolean_mask(tokens, tf.not_equal(tokens, ""))


OPERATORS: tuple[type[Operator], ...] = (Lower, Upper, Strip, Concat, Length, Tokens)
