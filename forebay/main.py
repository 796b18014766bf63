"""The command line: the table of verbs, and what becomes of errors.

Each verb is a module with ``add_arguments(parser)`` and ``run(arguments) -> int``, imported only when its verb runs, so
that ``forebay --help`` and ``forebay plan`` stay quick.

Exit codes: 0 done; 1 something went wrong that is not the user's input; 2 the user's input is wrong (a spec, an option,
a file); 130 interrupted. What nobody foresaw keeps its traceback.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Sequence

from transforms import startup_noise
from transforms.errors import ForebayError, InputError
from transforms.places import nearest

VERBS: dict[str, tuple[str, str]] = {
    "plan": ("forebay.plan", "show what models share, what the store has, what is missing and why"),
    "materialize": ("forebay.materialize", "compute what is missing, once for all models"),
    "train": ("forebay.train", "train a model from the store and evaluate it"),
    "export": ("forebay.export", "write a trained model as a SavedModel that takes raw features"),
    "run": ("forebay.run", "the whole line: plan, materialize, train every model, export one and check it"),
}
"""Module and one line of help of each verb."""

_EXTRAS = {
    "apache_beam": "pipelines",
    "tfx_bsl": "pipelines",
    "tensorflow_transform": "pipelines",
    "tensorflow": "trainer",
    "keras": "trainer",
    "sklearn": "trainer",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb.

    Args:
      argv: the arguments after the command's name; None takes the process's.

    Returns:
      The exit code.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help"):
        print(_usage(), file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    if words[0] == "--version":
        from importlib.metadata import version

        print(f"forebay {version('forebay')}")
        return 0
    verb = words[0]
    if verb not in VERBS:
        return _fail(f"unknown verb {verb!r}{nearest(verb, VERBS)}; the verbs are {', '.join(VERBS)}", 2)
    try:
        return _run(verb, words[1:])
    except InputError as error:
        return _fail(str(error), 2)
    except ForebayError as error:
        return _fail(str(error), 1)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        return _fail(f"`forebay {verb}` needs {error.name}, which is not installed: pip install 'forebay[{extra}]'", 1)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)


def _run(verb: str, words: Sequence[str]) -> int:
    name, summary = VERBS[verb]
    startup_noise.install()
    module = importlib.import_module(name)
    parser = argparse.ArgumentParser(prog=f"forebay {verb}", description=summary[0].upper() + summary[1:] + ".")
    module.add_arguments(parser)
    try:
        arguments, unknown = parser.parse_known_args(words)
    except SystemExit as stop:  # argparse has printed help or what is wrong
        return stop.code if isinstance(stop.code, int) else 2
    _check_options(verb, parser, unknown)
    return int(module.run(arguments))


def _check_options(verb: str, parser: argparse.ArgumentParser, unknown: Sequence[str]) -> None:
    if unknown:
        if not any(word.startswith("-") for word in unknown):
            raise InputError(f"`forebay {verb}`: expected no further argument, found {unknown[0]!r}")
        option = next(word for word in unknown if word.startswith("-")).partition("=")[0]
        known = list(dict.fromkeys(re.findall(r"--[a-z-]+", parser.format_usage())))
        hint = nearest(option, known) or f"; the options are {', '.join(known)}"
        raise InputError(f"`forebay {verb}` has no option {option!r}{hint}")


def _usage() -> str:
    width = max(map(len, VERBS)) + 2
    verbs = "\n".join(f"  {verb:<{width}}{summary}" for verb, (_, summary) in VERBS.items())
    return (
        "usage: forebay VERB [arguments]\n\n"
        "Computes each feature that many ranking models share once, keeps it, and trains every model from it.\n\n"
        f"verbs:\n{verbs}\n\n"
        "`forebay VERB --help` tells about one verb, `forebay --version` the version."
    )


def _fail(message: str, code: int) -> int:
    print(f"forebay: {message}", file=sys.stderr)
    return code
