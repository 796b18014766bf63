import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from forebay.main import VERBS, main
from tests.commands import ROOT, forebay


def test_without_a_verb_the_verbs_are_listed(capsys):
    assert main([]) == 2
    listed = capsys.readouterr().err
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == listed
    assert all(f"\n  {verb} " in listed for verb in VERBS)


def test_an_unknown_verb_names_the_nearest(capsys):
    assert main(["paln", "x"]) == 2
    assert "unknown verb 'paln' (did you mean 'plan'?)" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["plan"], ["plan", "m.yaml"], ["plan", "--data", "d", "--store", "s"]])
def test_wrong_arguments_end_with_2(words, capsys):
    assert main(words) == 2
    assert "usage: forebay plan" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--jsn=x", "`forebay plan` has no option '--jsn' (did you mean '--json'?)"),
        ("-x", "`forebay plan` has no option '-x'; the options are --data, --store, --html, --json"),
        ("n.yaml", "`forebay plan`: expected no further argument, found 'n.yaml'"),
    ],
)
def test_what_a_verb_does_not_take_is_named(option, message, capsys):
    assert main(["plan", "m.yaml", "--data", "d", "--store", "s", option]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [["", "--data", "d", "--store", "s"], ["m", "--data", "d", "--store="]])
def test_an_empty_path_is_not_the_working_directory(words, capsys):
    assert main(["plan", *words]) == 2
    assert "expected a path, found an empty text" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["train"], ["run"], ["export", "--run", "r"], ["export", "--output", "o", "--run="]])
def test_an_empty_output_is_not_the_working_directory(words, capsys):
    output = [] if "--output" in words else ["--output="]
    assert main([*words, "m.yaml", "--data", "d", "--store", "s", *output]) == 2
    assert "expected a path, found an empty text" in capsys.readouterr().err


def test_a_verb_tells_about_itself(capsys):
    assert main(["plan", "--help"]) == 0
    said = capsys.readouterr().out
    assert VERBS["plan"][1] in said.replace("Show", "show", 1).replace("\n", " ")
    assert "--store" in said


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_its_module(verb):
    spec = importlib.util.find_spec(VERBS[verb][0])
    assert spec is not None
    assert spec.origin is not None
    functions = {
        node.name for node in ast.parse(Path(spec.origin).read_text()).body if isinstance(node, ast.FunctionDef)
    }
    assert {"add_arguments", "run"} <= functions


VERB = """
import transforms.errors
def add_arguments(parser): parser.add_argument("--error", default="")
def run(arguments):
    exec(arguments.error)
    return 0
"""


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        ("", 0, ""),
        ("raise transforms.errors.InputError('fares.csv: not a log')", 2, "forebay: fares.csv: not a log\n"),
        ("raise transforms.errors.ForebayError('the disk is full')", 1, "forebay: the disk is full\n"),
        ("raise KeyboardInterrupt", 130, "forebay: interrupted\n"),
        (
            "raise ModuleNotFoundError('No', name='tensorflow.io')",
            1,
            "forebay: `forebay try` needs tensorflow.io, which is not installed: pip install 'forebay[trainer]'\n",
        ),
    ],
)
def test_errors_become_messages_and_exit_codes(error, code, said, tmp_path, monkeypatch, capsys):
    (tmp_path / "verb_under_test.py").write_text(VERB)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(VERBS, "try", ("verb_under_test", "a verb"))
    assert main(["try", "--error", error]) == code
    assert capsys.readouterr().err == said


def test_what_nobody_foresaw_keeps_its_traceback(tmp_path, monkeypatch):
    (tmp_path / "verb_under_test.py").write_text(VERB)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(VERBS, "try", ("verb_under_test", "a verb"))
    with pytest.raises(ZeroDivisionError):
        main(["try", "--error", "1 / 0"])
    with pytest.raises(ModuleNotFoundError):
        main(["try", "--error", "import no_such_module"])


def test_python_m_forebay_is_the_command(tmp_path):
    assert "verbs:" in forebay("--help", directory=tmp_path)
    assert "unknown verb" in forebay("nothing", directory=tmp_path, code=2)


def test_help_loads_no_library_but_our_own(tmp_path):
    script = (
        "import sys; from forebay.main import main; main(['--help']); "
        "print({name.partition('.')[0] for name in sys.modules} & "
        "{'tensorflow', 'apache_beam', 'pyarrow', 'numpy', 'pydantic', 'networkx', 'rich', 'yaml'})"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines()[-1] == "set()"
