"""What an operator is, and how a call becomes a node.

To add an operator, write one class in the module of its family and name it in that module's ``OPERATORS``. A class says
which arguments it takes, what type comes out, and which TensorFlow operations compute it; everything that operators
have in common (fitting calls to declarations, inserting analyzers, nulls and lists of element-wise operators) is done
once, here and in `transforms.operators.elementwise`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from transforms.canonical import Value
from transforms.errors import OperatorError
from transforms.nodes import CONSTANT, Node
from transforms.operators.arguments import REQUIRED, Argument, Literal, Operand, Parameter, operand_nodes
from transforms.places import nearest
from transforms.types import ColumnType, Shape

if TYPE_CHECKING:
    from transforms.assets import Asset
    from transforms.values import Value as Column

__all__ = ["Analyzer", "Argument", "IdSpace", "Literal", "Operand", "Operator", "Parameter"]

Parameters: TypeAlias = Mapping[str, Value]
IdSpace: TypeAlias = "Callable[[Node], int | None]"
"""Gives the exclusive upper bound of the ids that a node produces, or None where there is none."""


def widest(nodes: Iterable[Node], of: IdSpace) -> int | None:
    """The id space of a choice among ``nodes``: the largest of theirs. A literal None is no id and widens nothing."""
    spaces = [of(node) for node in nodes if node.operator != CONSTANT or node.parameters["value"] is not None]
    return None if None in spaces else max((space for space in spaces if space is not None), default=None)


class Operator(ABC):
    """Something that makes a column of other columns.

    Attributes:
      name: what expressions call it.
      version: part of the identity of every node; raise it when the same input would give another output.
      arguments: what a call may give, in the order of positional arguments.
      analyzer: what must be known about the whole log before this can be applied (to the first operand), or None. Its
        parameters are among this operator's, and become the analyzer node's.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    arguments: ClassVar[tuple[Operand | Parameter, ...]]
    analyzer: ClassVar[Analyzer | None] = None

    def __init__(self) -> None:
        self._operands = tuple(item for item in self.arguments if isinstance(item, Operand))
        self._parameters = tuple(item for item in self.arguments if isinstance(item, Parameter))
        self._repeated = bool(self._operands) and self._operands[-1].repeated
        self._analyzed = frozenset(item.name for item in self.analyzer._parameters) if self.analyzer else frozenset()

    @abstractmethod
    def result_type(self, inputs: Sequence[Node], parameters: Parameters) -> ColumnType:
        """The type of the result; ``inputs`` without the analyzer.

        Raises:
          OperatorError: where the inputs do not go together.
        """

    @abstractmethod
    def kernel(self, inputs: Sequence[Column], node: Node, asset: Any) -> Column:
        """The result of a batch, in TensorFlow operations that any batch size, even 0, may run.

        Args:
          inputs: the operands' values. To element-wise operators, and only to them, what is the same in all rows comes
            as a tensor of rank 0.
          node: the node that is computed.
          asset: what the analyzer's `Analyzer.prepare` made of its asset, or None.
        """

    def id_space(self, node: Node, asset: Asset | None, of: IdSpace) -> int | None:
        """Exclusive upper bound of the ids that ``node`` produces, or None. ``of`` answers for its inputs."""
        return None

    @property
    def signature(self) -> str:
        """How it is called: ``hash(x, buckets, salt='')``."""
        parts = []
        for item in self.arguments:
            if isinstance(item, Operand):
                parts.append(f"{item.name}, …" if item.repeated else item.name)
            else:
                parts.append(item.name if item.default is REQUIRED else f"{item.name}={item.default!r}")
        return f"{self.name}({', '.join(parts)})"

    @property
    def help(self) -> str:
        """The operator's documentation."""
        return inspect.getdoc(type(self)) or ""

    def call(self, positional: Sequence[Argument], named: Mapping[str, Argument]) -> Node:
        """The node of a call.

        Args:
          positional: arguments by position.
          named: arguments by keyword.

        Raises:
          OperatorError: where the arguments are not what the operator takes; `OperatorError.argument` says which.
        """
        operands, indexes, parameters = self._fit(positional, named)
        declared = [*self._operands, *[self._operands[-1]] * (len(operands) - len(self._operands))]
        nodes = operand_nodes(self.name, operands, declared, indexes)
        for node, operand, index in zip(nodes, declared, indexes, strict=True):
            operand.check(self.name, node, index)
        own = {name: value for name, value in parameters.items() if name not in self._analyzed}
        result = self.result_type(nodes, own)
        if self.analyzer is not None:
            wanted = {name: value for name, value in parameters.items() if name in self._analyzed}
            nodes = (*nodes, self.analyzer.node(nodes[0], wanted))
        return Node(self.name, self.version, own, nodes, result)

    def _fit(
        self, positional: Sequence[Argument], named: Mapping[str, Argument]
    ) -> tuple[list[Argument], list[int], dict[str, Value]]:
        """Operands, their indexes in the call, and parameters, each argument where it was declared."""
        given: dict[str, tuple[Argument, int]] = {}
        operands: list[Argument] = []
        indexes: list[int] = []
        if self._repeated:
            operands, indexes = list(positional), list(range(len(positional)))
        else:
            if len(positional) > len(self.arguments):
                raise OperatorError(
                    f"{self.signature} takes at most {len(self.arguments)} arguments, found {len(positional)}",
                    len(self.arguments),
                )
            for index, argument in enumerate(positional):
                given[self.arguments[index].name] = (argument, index)
        for index, (name, argument) in enumerate(named.items(), len(positional)):
            self._check_name(name, index)
            if name in given:
                raise OperatorError(f"{self.signature} was given {name!r} twice", index)
            given[name] = (argument, index)
        if self._repeated:
            if len(operands) < len(self._operands):
                raise OperatorError(
                    f"{self.signature} takes at least {len(self._operands)} positional arguments, found {len(operands)}"
                )
        else:
            for item in self._operands:
                if item.name not in given:
                    raise OperatorError(f"{self.signature} needs {item.name!r}")
                argument, index = given.pop(item.name)
                operands.append(argument)
                indexes.append(index)
        parameters: dict[str, Value] = {}
        for parameter in self._parameters:
            if parameter.name in given:
                argument, index = given.pop(parameter.name)
                parameters[parameter.name] = parameter.read(self.name, argument, index)
            elif parameter.default is REQUIRED:
                raise OperatorError(f"{self.signature} needs {parameter.name!r}")
            else:
                parameters[parameter.name] = parameter.default
        return operands, indexes, parameters

    def _check_name(self, name: str, index: int) -> None:
        """Refuses a keyword that no argument has, before what a misspelt one leaves open is missed."""
        known = [item.name for item in self.arguments]
        if name not in known:
            raise OperatorError(f"{self.signature} has no argument {name!r}{nearest(name, known)}", index)
        if self._repeated and name in [item.name for item in self._operands]:
            raise OperatorError(f"{self.signature} takes {name!r} by position only", index)


class Analyzer(Operator):
    """Something found out about all values of a column over a window of chunks: an asset, not a column."""

    def result_type(self, inputs: Sequence[Node], parameters: Parameters) -> ColumnType:
        return ColumnType(inputs[0].type.dtype, Shape.ASSET)

    def kernel(self, inputs: Sequence[Column], node: Node, asset: Any) -> Column:
        raise OperatorError(f"{self.name}() is a statistic of a whole column and has no value in a row")

    def call(self, positional: Sequence[Argument], named: Mapping[str, Argument]) -> Node:
        raise OperatorError(f"{self.name}() is a statistic of a whole column and comes with operators that apply it")

    def node(self, column: Node, parameters: Parameters) -> Node:
        """The analyzer's node over ``column``."""
        asset = self.result_type((column,), parameters)
        return Node(self.name, self.version, parameters, (column,), asset, analyzer=True)

    @abstractmethod
    def accumulator(self, parameters: Parameters) -> tuple[str, int, Parameters]:
        """What partial results depend on: kind, version, and the part of the parameters that enters them.

        The version is the operator's own: a change of what is kept of a chunk changes what is found, so that assets
        and all that is computed with them get new identities together with the partial results.
        """

    @abstractmethod
    def prepare(self, asset: Asset, column: ColumnType) -> Any:
        """What kernels use of ``asset``, made once, outside of any function: a table, constants."""
