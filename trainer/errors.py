"""What can go wrong in training, evaluating and exporting: one exception each."""

from __future__ import annotations

from transforms.errors import ForebayError, InputError


class TableError(InputError):
    """A table's rows cannot be known or do not hold its ids; the message names the table and its features."""


class NetworkError(InputError):
    """A network cannot take a model's features; the message names the network and what it takes."""


class UnsupportedError(InputError):
    """An engine cannot do what was asked; the message names the option and the nearest that works."""


class RunError(InputError):
    """A run's directory is not what the command needs; the message names it and what to do."""


class SetupMismatchError(InputError):
    """A checkpoint belongs to another model, data or training; the message names what differs, found and expected."""


class CheckpointError(ForebayError):
    """A checkpoint is damaged; the message names the file, what was found and what was expected."""


class DataError(InputError):
    """Data that a step cannot use; the message names the step, and what of the batch is wrong."""


class NoRowsError(InputError):
    """A model has no rows to train on; the message says what may keep them all away."""


class DivergedError(ForebayError):
    """The loss or a parameter is not finite although all data are; the message names the step."""


class OutputError(InputError):
    """An export cannot be put where it was asked for; the message names the path and what is there."""


class ExportError(ForebayError):
    """An export does not give what the trained model gives; the message names the outputs and by how much."""
