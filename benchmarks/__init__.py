"""One command per performance claim: ``python -m benchmarks.NAME [--quick]``; what they share is in `benchmarks.frame`."""
