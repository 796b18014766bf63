"""What can go wrong between Forebay and what is stored: one exception each.

Mistakes of the user (a wrong path, a damaged log, a store of another version) are `InputError`; a store whose files
contradict each other is `ForebayError`.
"""

from __future__ import annotations

from transforms.errors import ForebayError, InputError


class NotAStoreError(InputError):
    """A path that should be a store is something else; the message names the path and what is there."""


class FormatVersionError(InputError):
    """A store was written in another format version; the message names both versions."""


class ReadOnlyStoreError(InputError):
    """A store has to be written and cannot be; the message names the store and the reason."""


class WriteError(ForebayError):
    """A store that can be written did not take a file (a full disk, say); the message names both and the reason."""


class SourceError(InputError):
    """The log is absent, damaged, or not what its description says; the message names the file."""


class SliceError(InputError):
    """A slice of a manifest is not in Python's notation, or holds no chunks where some are needed."""


class LabelError(InputError):
    """Labels or weights that a model cannot be trained on; says how many and where."""


class MismatchError(ForebayError):
    """A stored file is not what it should be; the message names the file, what was found and what was expected."""


class NotMaterializedError(ForebayError):
    """Something was asked of the store that is not there yet; the message names the column and the chunk."""
