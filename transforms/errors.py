"""What can be wrong with a spec, an expression or a value: one exception each."""

from __future__ import annotations

from transforms.places import Span


class ForebayError(Exception):
    """Something went wrong that is not the user's input: the command exits with 1."""


class InputError(ForebayError):
    """The user's input is wrong (a spec, an option, a file): the command exits with 2. The message names the place."""


class NotCanonicalError(InputError):
    """A value has no canonical form, so nothing that contains it can have an identity."""


class GraphError(ForebayError):
    """A graph was asked for a node that it does not hold, or what was stored as a graph is none."""


class SpecError(InputError):
    """A spec or dataset file is wrong; the message says file, line, what was found and what was expected."""


class ExpressionError(InputError):
    """The text of an expression is none, or has syntax that is not supported.

    Attributes:
      span: the part of the text at fault, or None for the text as a whole.
    """

    def __init__(self, message: str, span: Span | None = None):
        super().__init__(message)
        self.span = span


class OperatorError(InputError):
    """An operator was given arguments that it does not take; says which argument, what was found, what is accepted.

    Attributes:
      argument: index of the argument at fault in the call, counting keyword arguments after positional ones, or None
        for the call as a whole.
    """

    def __init__(self, message: str, argument: int | None = None):
        super().__init__(message)
        self.argument = argument
