"""Which room may import which, and which rooms stay clear of TensorFlow and Beam; read from the source, not tried."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent

# The room on the left may import those on the right, at the top of a module or inside a function.
ROOMS = {
    "transforms": set(),
    "materialized": {"transforms"},
    "pipelines": {"transforms", "materialized"},
    "trainer": {"transforms", "materialized"},
    "forebay": {"transforms", "materialized", "pipelines", "trainer"},
}

OURS = {*ROOMS, "examples", "benchmarks", "tests"}

BEAM = {"apache_beam", "tensorflow_transform", "tfx_bsl"}

TENSORFLOW = {"tensorflow", "keras"}

# Modules of `transforms` and `materialized` that are about tensors; everything else serves `forebay plan`.
TENSOR_MODULES = {
    "transforms/compiler.py",
    "transforms/values.py",
    "transforms/arrow_values.py",
    "materialized/reader.py",
}


class Import(NamedTuple):
    """An import statement: the first part of the module's name, and whether it runs when the importing module does."""

    path: str
    line: int
    package: str
    at_import_time: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line} imports {self.package}"


def imports(path: Path) -> Iterator[Import]:
    """Every absolute import of a source file, those inside functions and under conditions too.

    What stands under ``if TYPE_CHECKING`` never runs, but still says that one room knows another.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    name = path.relative_to(ROOT).as_posix()

    def visit(node: ast.AST, runs: bool) -> Iterator[Import]:
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: relative import; write the room's name"
            modules = [str(node.module)]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("__import__", "importlib.import_module"):
            modules = [str(argument.value) for argument in node.args[:1] if isinstance(argument, ast.Constant)]
        for module in modules:
            yield Import(name, node.lineno, module.partition(".")[0], runs)  # type: ignore[attr-defined]
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for child in node.body:
                yield from visit(child, False)
            for child in node.orelse:
                yield from visit(child, runs)
            return
        inside = runs and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside)

    return visit(tree, True)


def sources(room: str) -> list[Path]:
    found = sorted((ROOT / room).rglob("*.py"))
    assert found, f"no modules in {room}/"
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_room_imports_only_what_it_may(room: str) -> None:
    forbidden = OURS - ROOMS[room] - {room}
    assert [str(each) for path in sources(room) for each in imports(path) if each.package in forbidden] == []


@pytest.mark.parametrize("room", sorted(set(ROOMS) - {"pipelines"}))
def test_only_pipelines_import_beam(room: str) -> None:
    assert [str(each) for path in sources(room) for each in imports(path) if each.package in BEAM] == []


@pytest.mark.parametrize("room", ["transforms", "materialized", "forebay"])
def test_planning_modules_do_not_import_tensorflow(room: str) -> None:
    found = [
        str(each)
        for path in sources(room)
        for each in imports(path)
        if each.package in TENSORFLOW and each.at_import_time and each.path not in TENSOR_MODULES
    ]
    assert found == []


def test_command_line_loads_neither_tensorflow_nor_beam() -> None:
    """The rule above reads our own modules; this one sees what they pull in."""
    heavy = sorted(TENSORFLOW | BEAM)
    script = f"""
import contextlib, sys
from forebay.main import main
with contextlib.suppress(SystemExit):
    main(["plan", "--help"])
print("loaded", [name for name in {heavy} if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "loaded []", ran.stdout + ran.stderr


def test_the_rule_sees_imports_wherever_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    module = tmp_path / "transforms" / "bad.py"
    module.parent.mkdir()
    module.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import trainer.loop\n"
        "def late():\n    from pipelines import job\n"
        "class Eager:\n    import keras.layers\n"
    )
    found = {each.package: each.at_import_time for each in imports(module)}
    assert found == {"typing": True, "trainer": False, "pipelines": False, "keras": True}
