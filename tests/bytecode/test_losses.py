"""Nothing is dropped in silence when a program is written."""

from __future__ import annotations

import tileir
from tileir.bytecode.losses import losses
from tileir.tools.main import run

PROGRAM = """cuda_tile.module @named attributes {mod.x = 1 : i32} {
  entry @k(%a: tile<f32>) {
    %0 = addf %a, %a {foo.bar = 3 : i32} : tile<f32>
    return
  }
}
"""


def test_public_layout_loses_names_and_foreign_attributes() -> None:
    messages = [loss.message for loss in losses(tileir.parse(PROGRAM), "public")]
    assert messages == [
        "the name of the module, @named, has no place in bytecode; it reads back as @kernels",
        "attribute 'mod.x' has no place in public bytecode and is dropped",
        "attribute 'foo.bar' has no place in public bytecode and is dropped",
    ]


def test_documented_layout_keeps_attributes_of_operations() -> None:
    messages = [loss.message for loss in losses(tileir.parse(PROGRAM), "documented")]
    assert len(messages) == 2 and "foo.bar" not in "".join(messages)


def test_ordinary_program_loses_nothing() -> None:
    assert losses(tileir.parse("entry @k() { return }"), "public") == []


def test_assembling_says_what_is_lost(tmp_path, capsys) -> None:
    source = tmp_path / "program.mlir"
    source.write_text(PROGRAM, encoding="utf-8")
    assert run(["as", str(source), "-o", str(tmp_path / "out.tileirbc")]) == 0
    assert "warning: attribute 'foo.bar' has no place in public bytecode and is dropped" in capsys.readouterr().err
