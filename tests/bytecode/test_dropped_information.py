"""Nothing is dropped in silence when a program is written."""

from __future__ import annotations

import pytest

import tileir
from tileir.bytecode.layouts import dropped_information
from tileir.tools.main import run

PROGRAM = """cuda_tile.module @named attributes {mod.x = 1 : i32} {
  entry @k(%a: tile<f32>) {
    %0 = addf %a, %a {foo.bar = 3 : i32} : tile<f32>
    return
  }
}
"""


def test_public_layout_loses_names_and_foreign_attributes() -> None:
    messages = [loss.message for loss in dropped_information(tileir.parse(PROGRAM), "public")]
    assert messages == [
        "the name of the module, @named, cannot be in bytecode; it reads back as @kernels",
        "attribute 'mod.x' cannot be in public bytecode and is dropped",
        "attribute 'foo.bar' cannot be in public bytecode and is dropped",
    ]


def test_documented_layout_keeps_attributes_of_operations() -> None:
    messages = [loss.message for loss in dropped_information(tileir.parse(PROGRAM), "documented")]
    assert len(messages) == 2 and "foo.bar" not in "".join(messages)


def test_ordinary_program_loses_nothing() -> None:
    assert dropped_information(tileir.parse("entry @k() { return }"), "public") == []


def test_assembling_says_what_is_lost(tmp_path, capsys) -> None:
    source = tmp_path / "program.mlir"
    source.write_text(PROGRAM, encoding="utf-8")
    assert run(["as", str(source), "-o", str(tmp_path / "out.tileirbc")]) == 0
    assert "warning: attribute 'foo.bar' cannot be in public bytecode and is dropped" in capsys.readouterr().err


LOCATED = """cuda_tile.module @kernels {
  global @g <i32: 1> : tile<1xi32> loc("g.py":1:1)
  entry @k(%a: tile<f32>) {
    %0 = addf %a, %a : tile<f32> loc("k.py":7:3)
    %1 = addf %a, %0 : tile<f32> loc(callsite("k.py":8:3 at "k.py":9:1))
    %2 = addf %a, %1 : tile<f32>
    return
  }
}
"""
NO_SCOPE = (
    "the locations of 2 operations have no debug scope and cannot be in bytecode: 'tileir as -g' or the pass "
    "'synthesize-debug-info-scopes' makes the scopes"
)
WHO_HAS = "only functions and the operations in them have one"
NO_FUNCTION = f"the location of 1 operation has no encoding in bytecode: {WHO_HAS}"
NO_ARGUMENTS = f"the locations of 3 block arguments have no encoding in bytecode: {WHO_HAS}"
NO_MODULE = f"the location of the module cannot be in bytecode: {WHO_HAS}"


@pytest.mark.parametrize("layout", ["public", "documented"])
def test_locations_do_not_vanish_in_silence(layout: str) -> None:
    found = dropped_information(tileir.parse(LOCATED), layout)
    assert [loss.message for loss in found] == [NO_SCOPE, NO_FUNCTION]
    assert [loss.position[0] for loss in found] == ["k.py", "g.py"]


def test_locations_of_the_builder_do_not_vanish_in_silence() -> None:
    builder = tileir.Builder(locations=True)
    with builder.entry("k", tileir.types.i32) as (x,):
        builder.addi(x, x)
    module = builder.finish()
    first, second = dropped_information(module, "public")
    assert first.message.startswith("the locations of 3 operations have no debug scope")
    assert second.message == NO_MODULE
    tileir.run_passes(module, ["synthesize-debug-info-scopes"])
    # The module has the line of the builder itself; the argument that of its entry, which has a place.
    assert [loss.message for loss in dropped_information(module, "public")] == [NO_MODULE]
    again = tileir.from_bytecode(tileir.to_bytecode(module))
    assert __file__ in again.text(debug_info=True)


ARGUMENTS = """cuda_tile.module @kernels {
  entry @k(%a: tile<f32> loc("k.py":2:1), %b: tile<i32> loc("name"), %c: tile<i32>) {
    %0 = reduce %p dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32>
      (%x: tile<f32> loc("k.py":3:1), %y: tile<f32>) { yield %x : tile<f32> }
    return
  }
} loc("module.py":1:1)
""".replace("%0", "%p = constant <f32: 1.0> : tile<4xf32>\n    %0")


@pytest.mark.parametrize("layout", ["public", "documented"])
def test_locations_of_block_arguments_and_of_the_module_do_not_vanish_in_silence(layout: str) -> None:
    module = tileir.parse(ARGUMENTS)
    found = dropped_information(module, layout)
    assert [loss.message for loss in found] == [NO_ARGUMENTS, NO_MODULE]
    assert [loss.position[0] for loss in found] == ["k.py", "module.py"]
    again = tileir.from_bytecode(tileir.to_bytecode(module, layout=layout))
    assert again.text(debug_info=True).count(".py") == 0


@pytest.mark.parametrize("layout", ["public", "documented"])
def test_what_was_read_from_bytecode_has_lost_all_it_can(layout: str) -> None:
    module = tileir.from_bytecode(tileir.to_bytecode(tileir.parse(ARGUMENTS), layout=layout))
    assert dropped_information(module, layout) == []


def test_positions_in_the_text_itself_are_no_loss() -> None:
    text = LOCATED.replace(' loc("g.py":1:1)', "").replace(' loc("k.py":7:3)', "")
    assert (
        dropped_information(tileir.parse(text.replace(' loc(callsite("k.py":8:3 at "k.py":9:1))', "")), "public") == []
    )


def test_assembling_with_debug_information_makes_the_scopes(tmp_path, capsys) -> None:
    source, output = tmp_path / "program.mlir", tmp_path / "out.tileirbc"
    source.write_text(LOCATED, encoding="utf-8")
    assert run(["as", str(source), "-o", str(output)]) == 0
    assert NO_SCOPE in capsys.readouterr().err
    assert "k.py" not in tileir.load(output).text(debug_info=True)
    assert run(["as", "-g", str(source), "-o", str(output)]) == 0
    told = capsys.readouterr().err
    assert NO_SCOPE not in told and NO_FUNCTION in told
    text = tileir.load(output).text(debug_info=True)
    assert '"k.py":7:3' in text and f'"{source}":6:' in text


# --- what the reader refuses, with the line it comes from ---


def _with_a_tile_too_large(module: tileir.Operation) -> bytes:
    """The bytes of a program whose tile of 1024 elements became one of 2^30."""
    data = tileir.to_bytecode(module)
    few, many = (1024).to_bytes(8, "little"), (1 << 30).to_bytes(8, "little")
    assert data.count(few) == 1
    return data.replace(few, many)


def test_a_tile_too_large_is_refused_with_the_line_of_its_operation(tmp_path, capsys) -> None:
    text = """cuda_tile.module @kernels { entry @k(%a: tile<f32>) {
      %0 = reshape %a : tile<f32> -> tile<1xf32> loc("k.py":7:3)
      %1 = broadcast %0 : tile<1xf32> -> tile<1024xf32> loc("k.py":8:3)
      return } }"""
    module = tileir.parse(text)
    tileir.run_passes(module, ["synthesize-debug-info-scopes"])
    data = _with_a_tile_too_large(module)
    with pytest.raises(tileir.BytecodeError) as caught:
        tileir.from_bytecode(data)
    first = caught.value.diagnostics[0]
    assert first.message.endswith("tile would exceed the maximum of 16777216 elements")
    assert [note.position for note in first.notes] == [("k.py", 8, 3)]
    path = tmp_path / "large.tileirbc"
    path.write_bytes(data)
    assert run(["check", str(path)]) == 1
    assert "note: the operation at hand comes from here\n --> k.py:8:3\n" in capsys.readouterr().out
    # NVIDIA's disassembler says nothing of it.
    assert run(["dis", str(path)]) == 1
    assert "k.py" not in capsys.readouterr().err


def test_a_parameter_too_large_is_refused_with_the_line_of_its_function() -> None:
    module = tileir.parse("""cuda_tile.module @kernels { entry @k(%a: tile<1024xf32>) { return } loc("k.py":5:1) }""")
    tileir.run_passes(module, ["synthesize-debug-info-scopes"], verify_each=False)
    with pytest.raises(tileir.BytecodeError, match=r"note: .*\n --> k\.py:5:1"):
        tileir.from_bytecode(_with_a_tile_too_large(module))
