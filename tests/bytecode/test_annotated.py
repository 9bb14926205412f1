"""The annotated dump owns every byte of a file exactly once, and calls it what it is."""

from __future__ import annotations

from random import Random

import pytest
from tests.bytecode.annotated import GOLDEN, golden
from tests.bytecode.documented.files import DocumentedFile
from tests.bytecode.mutations import mutants
from tests.bytecode.test_safety import call_sites
from tests.growth.measure import STEPS_BOUND, step_growth, steps
from tests.growth.test_growth import counted
from tests.kernels.export import TOOLS_MISSING, all_cases, export, tools_available
from tests.sampling import one_in

import tileir
from tileir.bytecode.annotated import Annotated, Node, annotate
from tileir.bytecode.layouts import to_bytes
from tileir.ir.core import Operation

PROGRAM = """\
cuda_tile.module @m {
  global @g <f32: [1.0, 2.0]> : tile<2xf32>
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) optimization_hints=<sm_90 = {num_cta_in_cga = 2}> {
    %a = assume div_by<16>, %n : tile<i32>
    %c = constant <f32: 1.5> : tile<4xf32>
    %r = reduce %c dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32>
      (%x: tile<f32>, %y: tile<f32>) {
      %s = addf %x, %y flush_to_zero : tile<f32>
      yield %s : tile<f32>
    }
    %v = make_tensor_view %p, shape = [%n, 4], strides = [4, 1] : tile<i32> -> tensor_view<?x4xf32, strides=[4,1]>
    return
  }
}
"""


def program() -> Operation:
    return tileir.parse(PROGRAM)


def assert_tiled(found: Annotated) -> None:
    """The fields follow one another from the first byte to the last, and groups cover what is in them."""
    position = 0
    for field in found.fields():
        assert field.start == position
        assert field.end > field.start
        position = field.end
    assert position == len(found.data)
    waiting = list(found.nodes)
    while waiting:
        node = waiting.pop()
        if node.children:
            assert (node.children[0].start, node.children[-1].end) == (node.start, node.end)
            waiting.extend(node.children)


def at(found: Annotated, *path: str) -> Node:
    """The node at a path of names."""
    nodes = found.nodes
    node: Node | None = None
    for name in path:
        node = next((p for p in nodes if p.name == name), None)
        assert node is not None, f"no '{name}' among {[p.name for p in nodes]}"
        nodes = node.children
    assert node is not None
    return node


def names(node: Node) -> list[str]:
    return [child.name for child in node.children]


# --- every byte ---


@pytest.mark.parametrize("name", sorted([path.name for path in GOLDEN.glob("*.tileirbc")]))
def test_golden_file_is_covered_and_understood(name: str) -> None:
    found = annotate(golden(name))
    assert_tiled(found)
    assert found.messages == []
    assert [field.name for field in found.fields() if field.name in ("not decoded", "not used")] == []


@pytest.mark.parametrize("version", [(13, 1), (13, 2), (13, 3), (13, 4)])
def test_program_is_covered_in_every_version(version: tuple[int, int]) -> None:
    found = annotate(to_bytes(program(), version))
    assert_tiled(found)
    assert found.messages == []


def test_program_is_covered_in_the_documented_layout() -> None:
    found = annotate(to_bytes(program(), (13, 1), "documented"))
    assert found.layout == "documented"
    assert_tiled(found)
    assert found.messages == []


def test_hand_made_documented_file_is_covered() -> None:
    assert_tiled(annotate(DocumentedFile().build(), "documented"))


@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
@pytest.mark.parametrize("part", one_in(2, range(4)))
def test_kernels_are_covered_and_understood(part: int) -> None:
    for case in all_cases()[part :: 4 * 3]:
        for version in (case.versions[0], case.versions[-1]):
            found = annotate(export(case, version))
            assert_tiled(found)
            assert found.messages == []
            unclear = {f.name for f in found.fields()} & {"not decoded", "not used", "number"}
            assert unclear == set(), case.name


@pytest.mark.long
@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
def test_all_kernels_are_covered() -> None:
    for case in all_cases():
        for version in case.versions:
            assert_tiled(annotate(export(case, version)))


@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
@pytest.mark.parametrize("seed", one_in(2, [1, 2]))
def test_broken_file_is_covered(seed: int) -> None:
    for _, data in mutants(seed, 30):
        assert_tiled(annotate(data))


def test_every_truncation_is_covered() -> None:
    data = to_bytes(program(), (13, 4))
    for length in range(len(data)):
        found = annotate(data[:length])
        assert_tiled(found)
        assert found.messages


def test_random_bytes_are_covered() -> None:
    random = Random(7)
    for _ in range(200):
        assert_tiled(annotate(b"\x7fTileIR\x00\x0d\x04\x00\x00" + random.randbytes(random.randrange(40))))


# --- names ---


def test_sections_stand_in_file_order() -> None:
    found = annotate(to_bytes(program(), (13, 4)))
    assert [node.name for node in found.nodes] == [
        *("header", "section Global", "section Func", "section Constant", "section Type", "section String"),
        "end of sections",
    ]
    assert names(at(found, "header")) == ["magic", "major version", "minor version", "tag"]
    assert names(at(found, "section Func", "section header"))[:3] == ["section id", "length", "alignment"]


def test_function_has_its_fields_and_operations() -> None:
    found = annotate(to_bytes(program(), (13, 4)))
    function = at(found, "section Func", "function 0")
    assert names(function) == [
        *("name", "signature", "flags", "location", "optimization_hints", "body length"),
        *[f"operation {number}" for number in range(5)],
    ]
    assert function.operation is not None and function.operation.name == "cuda_tile.entry"
    assert at(found, "section Func", "function 0", "name").meaning == '"k"'
    assert at(found, "section Func", "function 0", "flags").meaning == "entry, has hints"


def test_operation_has_flags_with_names_and_operands_with_values() -> None:
    found = annotate(to_bytes(program(), (13, 4)))
    path = ("section Func", "function 0", "operation 2", "region 0", "block 0", "operation 0")
    addition = at(found, *path)
    assert addition.operation is not None and addition.operation.name == "cuda_tile.addf"
    assert names(addition) == ["opcode", "result type 0", "flags", "rounding_mode", "operand lhs", "operand rhs"]
    assert at(found, *path, "opcode").meaning == "addf"
    assert at(found, *path, "result type 0").meaning == "tile<f32>"
    assert at(found, *path, "flags").meaning == "0=flush_to_zero"
    assert at(found, *path, "rounding_mode").meaning == "nearest_even"
    assert at(found, *path, "operand rhs").operand is addition.operation.operands[1]


def test_groups_of_operands_are_counted() -> None:
    view = at(annotate(to_bytes(program(), (13, 4))), "section Func", "function 0", "operation 3")
    assert names(view) == [
        *("opcode", "result count", "result type 0", "operand base", "operand dynamicShape count"),
        *("operand dynamicShape[0]", "operand dynamicStrides count"),
    ]


def test_tables_say_what_their_entries_are() -> None:
    found = annotate(to_bytes(program(), (13, 4)))
    types = at(found, "section Type")
    tile = next(node for node in types.children if node.meaning == "tile<4xf32>" and node.children)
    assert names(tile) == ["tag", "element type", "shape count", "shape[0]"]
    assert [node.meaning for node in tile.children[:2]] == ["tile", "f32"]
    assert at(found, "section Constant", "constant 1").meaning == "dense<1.500000e+00> : !cuda_tile.tile<4xf32>"
    assert at(found, "section String", "string 0").meaning == '"g"'
    assert at(found, "section Global", "global 0", "type").meaning == "tile<2xf32>"


def test_locations_are_told_by_file_and_line() -> None:
    text = PROGRAM.replace("return\n", "return loc(#l)\n").replace("  }\n}\n", "  } loc(#l)\n}\n")
    text += (
        '#f = #cuda_tile.di_file<"k.py" in "/src">\n'
        "#u = #cuda_tile.di_compile_unit<file = #f>\n"
        '#s = #cuda_tile.di_subprogram<file = #f, line = 3, name = "k", linkageName = "k", compileUnit = #u, scopeLine = 3>\n'
        '#l = loc(#cuda_tile.di_loc<loc("k.py":4:5) in #s>)\n'
    )
    found = annotate(to_bytes(tileir.parse(text), (13, 4)))
    assert_tiled(found)
    debug = at(found, "section Debug")
    place = next(
        node for node in debug.children if node.name.startswith("debug attribute") and node.children[0].value == 4
    )
    assert place.meaning == 'k.py:4:5 in function "k"'
    assert names(place) == ["tag", "scope", "file name", "line number", "column number"]
    entries = [node.meaning for node in debug.children if node.name.startswith("entry[")]
    assert entries[0] == 'k.py:4:5 in function "k"'
    assert entries[1] == "unknown"


# --- failures ---


def test_failure_is_placed_where_reading_ended() -> None:
    data = bytearray(to_bytes(program(), (13, 4)))
    whole = annotate(bytes(data))
    broken = at(whole, "section Func", "function 0", "operation 0", "operand value")
    data[broken.start] = 99
    found = annotate(bytes(data))
    assert_tiled(found)
    assert found.module is None
    assert found.failure == broken.end
    assert "operand index 99 out of bounds (size=2) for operand 0" in found.messages[0]
    function = at(found, "section Func", "function 0")
    assert function.children[-1].name == "not decoded"
    assert function.children[-1].start == broken.end
    # The tables are shown all the same.
    assert at(found, "section String", "string 0").meaning == '"g"'


def test_tables_are_shown_when_one_of_them_is_broken() -> None:
    data = bytearray(to_bytes(program(), (13, 4)))
    types = at(annotate(bytes(data)), "section Type", "type count")
    data[types.start] = 0x7F
    found = annotate(bytes(data))
    assert_tiled(found)
    assert found.messages[0].startswith("error at offset 1: number of types (127) exceeds the maximum of ")
    assert at(found, "section String", "string 0").meaning == '"g"'


def test_second_section_of_a_kind_counts() -> None:
    data = to_bytes(program(), (13, 4))
    section = at(annotate(data), "section Global")
    found = annotate(data[:-1] + data[section.start : section.end] + data[-1:])
    assert_tiled(found)
    first = found.nodes[1]
    assert (first.name, first.meaning) == ("section Global", "another one of this kind follows")
    assert [node.name for node in first.children] == ["section header", "not used"]


@counted
@pytest.mark.parametrize("side", ["callee", "caller"])
def test_steps_to_describe_call_sites_grow_with_their_number(side):
    def measured(depth: int) -> int:
        return steps(lambda data: annotate(data).fields(), call_sites(depth, side))

    measured(64)
    assert step_growth(measured, 64) < STEPS_BOUND
