"""Arguments that several verbs share, so that they are spelled and described in one place."""

from __future__ import annotations

import argparse


def add_models(parser: argparse.ArgumentParser) -> None:
    """``MODELS...``: one or more model specs."""
    parser.add_argument("models", nargs="+", metavar="MODEL", help="model specs (YAML files)")


def add_data(parser: argparse.ArgumentParser) -> None:
    """``--data``: the dataset file."""
    parser.add_argument(
        "--data", required=True, metavar="FILE", help="dataset file (YAML): where the log is and what is in it"
    )


def add_store(parser: argparse.ArgumentParser) -> None:
    """``--store``: where materialized columns are kept."""
    parser.add_argument(
        "--store", required=True, metavar="PATH", help="the store: a directory, gs://bucket/path or s3://bucket/path"
    )
