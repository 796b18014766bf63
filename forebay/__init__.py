"""The command line, one thin module per verb. Each verb imports what it needs only when it runs."""
