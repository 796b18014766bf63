"""What can go wrong while a log is read and columns are computed: one exception each.

Mistakes in the user's log are `InputError`; what a runner or a stored partial result does is `ForebayError`.
"""

from __future__ import annotations

from transforms.errors import ForebayError, InputError


class LogError(InputError):
    """A raw file is not what the dataset file says; names file, line, what was found and what was expected."""


class ChangedSourceError(InputError):
    """A raw file's bytes are no longer those that its chunk is named after."""


class ScratchError(ForebayError):
    """The directory for temporary files does not take what has to wait there; the message names it."""


class PartialResultError(ForebayError):
    """A stored partial result of an analyzer is damaged, or is not one."""


class RunnerError(ForebayError):
    """A Beam job ended in another state than done; the message names the state."""
