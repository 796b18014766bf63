"""``forebay plan``: what models share, what the store has, what is missing and why. Writes nothing to the store."""

from __future__ import annotations

import argparse
import gc
import os
from pathlib import Path

from forebay import arguments as common
from transforms.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    common.add_models(parser)
    common.add_data(parser)
    common.add_store(parser)
    parser.add_argument(
        "--html", type=common.path, metavar="FILE", help="also write the graph and the tables as one HTML file"
    )
    parser.add_argument("--json", type=common.path, metavar="FILE", help="also write everything as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Prints the plan, and writes it where it is told to."""
    # Most of a plan's time goes to imports, which make many objects and no garbage: looking for some costs a tenth.
    gc.disable()
    try:
        return _run(arguments)
    finally:
        gc.enable()


def _run(arguments: argparse.Namespace) -> int:
    for option in (arguments.html, arguments.json):
        _check_writable(option)
    from forebay.project import open_project

    plan = open_project(arguments.models, arguments.data, arguments.store).plan

    from forebay.plan_tables import print_plan

    print_plan(plan)
    if arguments.html:
        from forebay.graph_page import page

        _write(arguments.html, page(plan))
    if arguments.json:
        from forebay.plan_json import plan_as_json

        _write(arguments.json, plan_as_json(plan))
    return 0


def _check_writable(path: str | None) -> None:
    """Finds a wrong path before the work instead of after it."""
    if path is not None and (os.path.isdir(path) or not os.path.isdir(os.path.dirname(path) or ".")):
        raise InputError(f"{path}: expected a file in a directory that exists")


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    print(f"wrote {path}")
