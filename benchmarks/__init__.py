"""One command per performance claim: ``python -m benchmarks.NAME [--quick]``; `benchmarks.frame` is the convention."""
