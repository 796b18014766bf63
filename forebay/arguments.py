"""Arguments that several verbs share, so that they are spelled and described in one place."""

from __future__ import annotations

import argparse


def path(text: str) -> str:
    """The type of arguments that are paths: an empty one is nobody's intention, and would mean the working directory.

    Raises:
      ArgumentTypeError: it is empty.
    """
    if not text:
        raise argparse.ArgumentTypeError("expected a path, found an empty text")
    return text


def add_models(parser: argparse.ArgumentParser) -> None:
    """``MODELS...``: one or more model specs."""
    parser.add_argument("models", nargs="+", type=path, metavar="MODEL", help="model specs (YAML files)")


def add_data(parser: argparse.ArgumentParser) -> None:
    """``--data``: the dataset file."""
    parser.add_argument(
        "--data",
        required=True,
        type=path,
        metavar="FILE",
        help="dataset file (YAML): where the log is and what is in it",
    )


def add_store(parser: argparse.ArgumentParser) -> None:
    """``--store``: where materialized columns are kept."""
    parser.add_argument(
        "--store",
        required=True,
        type=path,
        metavar="PATH",
        help="the store: a directory, gs://bucket/path or s3://bucket/path",
    )


def add_runs(parser: argparse.ArgumentParser) -> None:
    """``--output``: where trained models are kept."""
    parser.add_argument(
        "--output",
        required=True,
        type=path,
        metavar="DIR",
        help="where runs are kept: each model in DIR under its own name",
    )
