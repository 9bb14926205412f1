"""Passes and patterns of one's own, as docs/guide/writing_passes.md and examples/own_pass.py tell."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tileir
from tileir.dialect.ops.integer import ADDI, MULI
from tileir.passes.catalog import REGISTERED
from tileir.rewrite import rewriter
from tileir.tools.main import run as run_tool

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "own_pass.py"
PROGRAM = ROOT / "examples" / "vector_add.mlir"
TEXT = "cuda_tile.module @m { entry @k(%x: tile<i32>) { %y = addi %x, %x : tile<i32> return } }"


@pytest.fixture(autouse=True)
def forget_passes() -> Iterator[None]:
    # Asked for by its function: tileir's own passes are in the table from the first call on, not before.
    known = {found.name: found for found in tileir.passes.registered_passes()}
    yield
    REGISTERED.clear()
    REGISTERED.update(known)


def test_the_example_runs_and_tells_what_it_did() -> None:
    result = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "multiply-by-shifting {'dead-code': 1, 'hoisted-constants': 3, 'multiply-by-shifting': 1}" in result.stdout
    assert "@vector_add has 2 load_ptr_tko, 1 store_ptr_tko" in result.stdout


def test_the_command_line_loads_passes(capsys: pytest.CaptureFixture[str]) -> None:
    passes = "multiply-by-shifting,canonicalize,count-memory"
    assert run_tool(["opt", str(PROGRAM), "--load", str(EXAMPLE), "--passes", passes, "--statistics"]) == 0
    shown = capsys.readouterr()
    assert "shli %blockId_x, %cst_7_i32" in shown.out and "muli" not in shown.out
    assert "remark: @vector_add has 2 load_ptr_tko, 1 store_ptr_tko" in shown.err
    assert "       1  multiply-by-shifting" in shown.err


def _pattern(work: str) -> str:
    """A file with a pass that does this to every product."""
    return (
        "import tileir\nfrom tileir.declarations import MULI\ndef double(operation, rewriter):\n"
        f"  {work}\ndef f(root, options, session):\n"
        "  return int(tileir.passes.apply_greedily(root, [tileir.passes.Pattern('double', MULI, double)]))\n"
        "tileir.passes.register_pass('mine', '', f)\n"
    )


def _telling(finding: str) -> str:
    """A file with a pass that tells this."""
    return (
        "import tileir\ndef f(root, options, session):\n"
        f"  session.diagnostics.append({finding})\n  return 0\ntileir.passes.register_pass('mine', '', f)\n"
    )


A_LOCATION = "a Location, as operation.location, not None ({path}:3)"

COMPILED_WORDS = {
    A_LOCATION: "tileir.ir.location.Location object expected; got None ({path}:3)",
}
"""What the compiled build says, which looks at the types of arguments before the function does."""


@pytest.mark.parametrize(
    ("source", "status", "words"),
    [
        ("import tileir\n1 / 0\n", 2, "cannot load '{path}': ZeroDivisionError: division by zero ({path}:2)"),
        (
            "import tileir\ntileir.passes.register_pass('cse', '', print)\n",
            2,
            "cannot load '{path}': pass 'cse' is registered twice ({path}:2)",
        ),
        ("open('/nowhere/else')", 2, "cannot load '{path}': FileNotFoundError: [Errno 2] No such file"),
        ("def f(:\n", 2, "cannot load '{path}': SyntaxError: invalid syntax ({path}:1)"),
        ("import json\njson.loads('{')\n", 2, "char 1) ({path}:2)"),
        (
            "import tileir\ndef f(root):\n  return 0\ntileir.passes.register_pass('mine', '', f)\n",
            1,
            "pass 'mine' fails: TypeError: f() takes 1 positional argument but 3 were given\n",
        ),
        (_pattern("rewriter.replace(operation, [])"), 1, "has 1 results, but 0 values replace them ({path}:4)"),
        (
            _pattern("rewriter.replace(operation, operation.result)"),
            1,
            "by a list of values, not by an OperationResult ({path}:4)",
        ),
        (_pattern("rewriter.erase(operation)"), 1, "a result is still used ({path}:4)"),
        (_pattern("rewriter.builder().addf(*operation.operands)"), 1, " = note: in pass 'mine' ({path}:4)"),
        (_telling("'hello'"), 1, "error: pass 'mine' reports 'hello': session.diagnostics holds tileir.Diagnostic"),
        (_telling("tileir.Diagnostic('remark', 'x', None)"), 1, A_LOCATION),
        (
            "import tileir\ndef f(root, options, session):\n  root.bogus\ntileir.passes.register_pass('mine', '', f)\n",
            1,
            "pass 'mine' fails: AttributeError: 'Module' object has no attribute 'bogus' ({path}:3)",
        ),
        (
            "import tileir\ndef f(root, options, session):\n  pass\ntileir.passes.register_pass('mine', '', f)\n",
            1,
            "error: pass 'mine' returned None instead of the number of changes it made",
        ),
        (
            "import tileir\ndef f(root, options, session):\n  raise tileir.PassError('no', root.location)\n"
            "tileir.passes.register_pass('mine', '', f)\n",
            1,
            "error: no\n --> ",
        ),
    ],
)
def test_mistakes_in_a_loaded_file_are_told_in_words(
    source: str, status: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(source)
    assert run_tool(["opt", str(PROGRAM), "--load", str(path), "--passes", "mine"]) == status
    shown = capsys.readouterr()
    if words in COMPILED_WORDS and not rewriter.__file__.endswith(".py"):
        words = COMPILED_WORDS[words]
    assert words.format(path=path) in shown.err
    assert "Traceback" not in shown.err and not shown.out


def test_a_file_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_tool(["opt", str(PROGRAM), "--load", "nowhere.py", "-O1"]) == 2
    assert "cannot read 'nowhere.py': No such file or directory" in capsys.readouterr().err


def test_a_pass_is_taken_without_a_name_in_the_table() -> None:
    seen: list[str] = []

    def look(root: tileir.Operation, options: dict[str, str], session: tileir.passes.PassSession) -> int:
        seen.append(root.name)
        return 0

    module = tileir.parse(TEXT)
    for scope in ("any", "module", "function"):
        tileir.run_passes(module, [tileir.passes.Pass("look", "", look, scope=scope)])
    assert seen == ["cuda_tile.module", "cuda_tile.module", "cuda_tile.entry"]
    assert "look" not in [found.name for found in tileir.passes.registered_passes()]


@pytest.mark.parametrize("name", ["", "a b", "a,b", "a{", "a("])
def test_a_pass_has_a_name_that_a_pipeline_can_have(name: str) -> None:
    with pytest.raises(tileir.errors.PipelineError, match="cannot be the name of a pass"):
        tileir.passes.register_pass(name, "", lambda root, options, session: 0)
    with pytest.raises(tileir.OptionError, match="'kernel' is not a scope of a pass: use one of any, module, function"):
        tileir.passes.register_pass("mine", "", lambda root, options, session: 0, scope="kernel")


def test_an_installed_package_names_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    information = tmp_path / "mine-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[tileir.passes]\nmine = mine_passes:MINE\nodd = mine_passes:run\nother = mine_passes:MINE\n"
        "failing = mine_passes:FAILING\nleaving = leaving_passes:NONE\n"
    )
    (tmp_path / "mine_passes.py").write_text(
        "import tileir\ndef run(root, options, session):\n  return 3\nMINE = tileir.passes.Pass('mine', 'of a package', run)\n"
        "def fail(root, options, session):\n  return root.bogus\nFAILING = tileir.passes.Pass('failing', '', fail)\n"
    )
    (tmp_path / "leaving_passes.py").write_text("raise SystemExit(4)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    report = tileir.passes.PassReport()
    tileir.run_passes(tileir.parse(TEXT), ["mine", "mine"], report=report)
    assert [run.changes for run in report.runs] == [3, 3]
    with pytest.raises(
        tileir.errors.PipelineError, match=r"the pass 'odd' of mine_passes:run cannot be loaded: it is a func"
    ):
        tileir.run_passes(tileir.parse(TEXT), ["odd"])
    with pytest.raises(tileir.errors.PipelineError, match="cannot be loaded: it is named 'mine' there"):
        tileir.run_passes(tileir.parse(TEXT), ["other"])
    with pytest.raises(tileir.errors.PipelineError, match="cannot be loaded: SystemExit: 4"):
        tileir.run_passes(tileir.parse(TEXT), ["leaving"])
    assert run_tool(["opt", str(PROGRAM), "--passes", "failing"]) == 1
    shown = capsys.readouterr().err
    assert f"no attribute 'bogus' ({tmp_path / 'mine_passes.py'}:6)" in shown and "Traceback" not in shown


def test_a_pass_that_breaks_the_program_is_named() -> None:
    def breaking(root: tileir.Operation, options: dict[str, str], session: tileir.passes.PassSession) -> int:
        for operation in root.walk():
            if operation.declaration is ADDI:
                operation.set_attribute("overflow", None)
                operation.set_operands(operation.operands[:1])
        return 1

    with pytest.raises(tileir.VerifyError, match="the program is wrong after pass 'breaking'"):
        tileir.run_passes(tileir.parse(TEXT), [tileir.passes.Pass("breaking", "", breaking)])


def test_what_a_rewriter_builds_is_looked_at_again_and_keeps_the_location() -> None:
    def twice(operation: tileir.Operation, rewriter: tileir.passes.Rewriter) -> bool:
        if operation.operands[0] is not operation.operands[1]:
            return False
        rewriter.replace(operation, [rewriter.builder().muli(operation.operands[0], 2)])
        return True

    def shift(operation: tileir.Operation, rewriter: tileir.passes.Rewriter) -> bool:
        rewriter.replace(operation, [rewriter.builder().shli(operation.operands[0], 1)])
        return True

    module = tileir.parse(TEXT.replace("return", 'print "%d", %y : tile<i32> return'), "k.mlir")
    patterns = [tileir.passes.Pattern("twice", ADDI, twice), tileir.passes.Pattern("shift", MULI, shift)]
    assert tileir.passes.apply_greedily(module, patterns)
    tileir.verify(module)
    (found,) = [operation for operation in module.walk() if operation.declaration.mnemonic == "shli"]
    assert repr(found).endswith(" at k.mlir:1:54>")
    assert "addi" not in str(module) and "muli" not in str(module)


def test_a_pattern_is_for_declarations() -> None:
    with pytest.raises(TypeError, match=r"for declarations, as tileir\.declarations\.ADDI, not for 'addi'|got str"):
        tileir.passes.Pattern("p", "addi", lambda operation, rewriter: False)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        tileir.passes.Fold("f", "addi", lambda operation: None)  # type: ignore[arg-type]
