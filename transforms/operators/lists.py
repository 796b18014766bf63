"""Coming."""

OPERATORS = ()
