"""`tileir-opt` and `tileir-translate`, the drop-ins for NVIDIA's tools."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tileir.tools.drop_in import opt as drop_in_opt
from tileir.tools.drop_in import translate as drop_in_translate

MODULE = "cuda_tile.module @m {\n  testing$func @f(%arg0: tile<4xf32>) {\n    return\n  }\n}\n"
WRAPPED = "module {\n" + "".join([f"  {line}\n" for line in MODULE.splitlines()]) + "}\n"
WRONG = "cuda_tile.module @m {\n  entry @f(%a: tile<i32>) {\n    %b = negf %a : tile<i32>\n    return\n  }\n}\n"
WRONG_TEXT = "'cuda_tile.negf' op operand #0 must be "


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(monkeypatch, capsys)


class Runner:
    """Runs tileir-opt on a text: status, standard output, standard error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch = monkeypatch
        self.capsys = capsys

    def __call__(self, text: str, *arguments: str) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        status = drop_in_opt.run(list(arguments))
        printed = self.capsys.readouterr()
        return status, printed.out, printed.err


def test_text_gets_a_module_around_it(run: Runner) -> None:
    assert run(MODULE) == (0, WRAPPED, "")


def test_printed_text_prints_the_same_again(run: Runner) -> None:
    assert run(WRAPPED) == (0, WRAPPED, "")


def test_generic_form_reads_back(run: Runner) -> None:
    status, generic, _ = run(MODULE, "-mlir-print-op-generic")
    assert status == 0
    assert generic.startswith('"builtin.module"() ({\n  "cuda_tile.module"() <{sym_name = "m"}> ({\n')
    assert run(generic)[1] == WRAPPED


def test_orderings_and_scopes_are_integers_in_generic_form(run: Runner) -> None:
    text = (
        "cuda_tile.module @m {\n  testing$func @f(%arg0: tile<ptr<f32>>) {\n"
        "    %result, %result_token = load_ptr_tko acquire device %arg0 : tile<ptr<f32>> -> tile<f32>, token\n"
        "    return\n  }\n}\n"
    )
    _, generic, _ = run(text, "--mlir-print-op-generic")
    assert "<{memory_ordering_semantics = 2 : i32, memory_scope = 1 : i32, operandSegmentSizes" in generic
    assert "load_ptr_tko acquire device %arg0 :" in run(generic)[1]


def test_no_implicit_module_prints_the_operation_alone(run: Runner) -> None:
    assert run(MODULE, "-no-implicit-module") == (0, MODULE, "")


def test_no_implicit_module_keeps_a_module_that_is_written_out(run: Runner) -> None:
    assert run(WRAPPED, "-no-implicit-module") == (0, WRAPPED, "")
    assert run(WRAPPED.rstrip() + ' loc("a.py":1:2)\n', "-no-implicit-module") == (0, WRAPPED, "")


def test_no_implicit_module_wants_one_operation(run: Runner) -> None:
    status, _, error = run(MODULE + MODULE.replace("@m", "@n"), "-no-implicit-module")
    assert status == 1
    assert error == "<stdin>:0:0: error: source must contain a single top-level operation, found: 2\n"


def test_locations_are_printed_where_asked_for(run: Runner) -> None:
    status, text, _ = run(MODULE, "--mlir-print-debuginfo")
    assert status == 0
    assert 'loc("<stdin>":0:0)' in text
    assert 'loc("<stdin>":2:3)' in text


def test_only_the_first_mistake_is_reported(run: Runner) -> None:
    twice = WRONG.replace("    return\n", "    %c = negf %a : tile<i32>\n    return\n")
    status, output, error = run(twice)
    assert (status, output) == (1, "")
    assert error.startswith(f"<stdin>:3:10: error: {WRONG_TEXT}")
    assert error.count("error:") == 1


def test_dialect_is_the_public_one(run: Runner) -> None:
    draft = MODULE.replace("    return\n", "    %a = constant dense<1> : tile<i32>\n    return\n")
    assert run(draft)[0] == 1
    newer = MODULE.replace("    return\n", "    %a = fpowf %arg0, %arg0 : tile<4xf32>\n    return\n")
    assert run(newer)[0] == 1
    status, output, _ = run(newer.replace("fpowf", "pow"))
    assert status == 0
    assert "= pow %arg0" in output


def test_prefix_may_be_left_out_only_inside_a_dialect_operation(run: Runner) -> None:
    status, _, error = run("entry @f() {\n  return\n}\n")
    assert status == 1
    assert "custom op 'entry' is unknown (tried 'builtin.entry' as well)" in error
    assert run("cuda_tile.entry @f() {\n  return\n}\n")[0] == 0


def test_parts_are_handled_on_their_own(run: Runner) -> None:
    status, output, error = run(MODULE + "// -----\n" + WRONG + "// -----\n" + MODULE, "-split-input-file")
    assert status == 1
    assert output == WRAPPED + "// -----\n" + "// -----\n" + WRAPPED
    assert error.startswith(f"within split at <stdin>:6 offset :4:10: error: {WRONG_TEXT}")


def test_expected_mistake_is_fine(run: Runner) -> None:
    text = WRONG.replace("    %b", "    // expected-error @below {{op operand #0 must be}}\n    %b")
    assert run(text, "-verify-diagnostics") == (0, "", "")


def test_unexpected_and_unseen_mistakes_are_reported(run: Runner) -> None:
    text = WRONG.replace("    %b", "    // expected-error @below {{another}}\n    %b")
    status, _, error = run(text, "-verify-diagnostics", "-split-input-file")
    assert status == 1
    assert f"within split at <stdin>:1 offset :4:10: error: unexpected error: {WRONG_TEXT}" in error
    assert 'within split at <stdin>:1 offset :3:8: error: expected error "another" was not produced' in error


def test_message_nvidia_gives_twice_is_given_twice(run: Runner) -> None:
    text = WRONG.replace("negf %a", "divi %a, %a")
    status, _, error = run(text)
    assert status == 1
    assert [line for line in error.splitlines() if "error:" in line] == [
        "<stdin>:3:22: error: custom op 'cuda_tile.divi' expected valid keyword",
        "<stdin>:3:22: error: custom op 'cuda_tile.divi' expected signedness to be one of: {'signed', 'unsigned'}",
    ]


def test_unregistered_operations_only_where_allowed(run: Runner) -> None:
    text = '"some.op"() : () -> ()\n'
    status, _, error = run(text)
    assert status == 1
    assert "-allow-unregistered-dialect" in error
    assert run(text, "--allow-unregistered-dialect") == (0, 'module {\n  "some.op"() : () -> ()\n}\n', "")


@pytest.mark.parametrize(
    ("flags", "status", "severities"),
    [
        ([], 0, []),
        (["-Werr-hints"], 0, []),
        (["-Wunsupported-hints"], 0, ["warning"]),
        (["-Wunsupported-hints", "-Werr-hints"], 1, ["warning", "error"]),
    ],
)
def test_hint_flags_decide_about_doubtful_hints(
    run: Runner, flags: list[str], status: int, severities: list[str]
) -> None:
    text = "cuda_tile.module @m {\n  entry @f() optimization_hints=<sm_7 = {}> {\n    return\n  }\n}\n"
    found, _, error = run(text, *flags)
    assert found == status
    assert [line.split(":")[3].strip() for line in error.splitlines() if line.startswith("<stdin>")] == severities


def test_output_file_is_written_only_when_all_went_well(run: Runner, tmp_path: Path) -> None:
    target = tmp_path / "out.mlir"
    assert run(WRONG, "-o", str(target))[0] == 1
    assert not target.exists()
    assert run(MODULE, "-o", str(target)) == (0, "", "")
    assert target.read_text() == WRAPPED


UNUSED = """cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    %y = addi %x, %x : tile<i32>
    return
  }
}
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--canonicalize"],
        ["-cse", "-canonicalize"],
        ["--pass-pipeline=builtin.module(canonicalize)"],
        ["--pass-pipeline=builtin.module(cuda_tile.module(cuda_tile.entry(cse,canonicalize)))"],
        ["--pass-pipeline", "any(dce)"],
    ],
)
def test_passes_run_as_in_mlir(run: Runner, arguments: list[str]) -> None:
    status, output, error = run(UNUSED, *arguments)
    assert (status, error) == (0, "")
    assert "addi" not in output


def test_pipeline_for_other_operations_changes_nothing(run: Runner) -> None:
    status, output, _ = run(UNUSED, "--pass-pipeline=builtin.module(cuda_tile.module(cuda_tile.testing$func(dce)))")
    assert status == 0
    assert "addi" in output


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (
            "canonicalize",
            "expected pass pipeline to be wrapped with the anchor operation type, e.g. 'builtin.module(...)'",
        ),
        (
            "builtin.module(canonicalise)",
            "'canonicalise' does not refer to a registered pass; did you mean 'canonicalize'?",
        ),
        ("builtin.module(cse", "encountered unbalanced parentheses while parsing pipeline"),
        (
            "builtin.module(cse))",
            "encountered extra closing ')' creating unbalanced parentheses while parsing pipeline",
        ),
        ("builtin.module(cse{x=1})", "pass 'cse' has no option 'x'"),
    ],
)
def test_wrong_pipeline_is_explained(run: Runner, pipeline: str, message: str) -> None:
    assert run(UNUSED, f"--pass-pipeline={pipeline}") == (1, "", f"tileir-opt: {message}\n")


def test_unknown_flag_is_status_1_as_in_llvm(run: Runner) -> None:
    status, _, error = run(MODULE, "-split-input-fil")
    assert status == 1
    assert error.startswith("tileir-opt: unknown option '-split-input-fil'; did you mean '-split-input-file'?\n")


def test_translation_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert drop_in_translate.run([]) == 1
    assert capsys.readouterr().err.startswith("tileir-translate: expected one of -mlir-to-cudatilebc, ")
