"""Random programs verify, and every form they are printed in reads back as the same program."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from tests.generators.programs import declared_operations, programs, random_module

import tileir
from tileir.dialect.attributes import (
    BoundedAttribute,
    CuteAttribute,
    DivByAttribute,
    OptimizationHintsAttribute,
    SameElementsAttribute,
)
from tileir.dialect.debug_info import DICompileUnit, DIFile, DILexicalBlock, DILocation, DISubprogram, children
from tileir.dialect.enums import ENUM_KINDS, PADDING
from tileir.dialect.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileViewType,
    TokenType,
    number_palette,
)
from tileir.ir.attributes import Attribute, EnumAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import ONE
from tileir.ir.dense import DenseAttribute
from tileir.ir.location import (
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    NameLocation,
    OpaqueLocation,
    UnknownLocation,
    file_location,
)
from tileir.ir.registry import REGISTRY
from tileir.ir.traversal import structurally_equal
from tileir.ir.types import I4, Type
from tileir.ir.versions import NEWEST, V13_1, V13_2, V13_3, V13_4, version_text
from tileir.text.printer import print_disassembly, print_operation
from tileir.text.reading import parse_text

VERSIONS = [V13_1, V13_2, V13_3, V13_4]
VERSION_NAMES = ["13.1", "13.2", "13.3", "13.4"]

# The same programs in every run; another profile of hypothesis may draw others.
few = settings(max_examples=25, deadline=None, derandomize=True, database=None)


def assert_reads_back(module: Operation, version=NEWEST, **form: Any) -> None:
    """The printed form parses and verifies, equals the module, and prints the same again."""
    text = print_operation(module, version=version, **form)
    again = parse_text(text, version=version)
    tileir.verify(again, version=version_text(version))
    assert structurally_equal(module, again, locations=bool(form.get("debug_info"))), text
    assert print_operation(again, version=version, **form) == text


@few
@given(module=programs())
def test_generated_program_verifies(module):
    tileir.verify(module)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("debug_info", [False, True], ids=["plain", "locations"])
@pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])
@few
@given(module=programs())
def test_printed_program_reads_back_equal(module, generic, debug_info):
    assert_reads_back(module, generic=generic, debug_info=debug_info)


@few
@given(module=programs(locations=False))
def test_program_with_the_constant_names_of_the_draft_reads_back_equal(module):
    assert_reads_back(module, names="draft")


@few
@given(module=programs(wrapped=True))
def test_program_inside_a_builtin_module_reads_back_equal(module):
    assert module.name == "builtin.module"
    assert_reads_back(module, debug_info=True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])
@pytest.mark.parametrize("version", VERSIONS, ids=VERSION_NAMES)
def test_program_of_an_older_dialect_reads_back_equal(version, generic):
    for seed in range(8):
        module = random_module(Random(seed), version=version)
        tileir.verify(module, version=version_text(version))
        assert_reads_back(module, version, generic=generic, debug_info=True)


@pytest.mark.parametrize("debug_info", [False, True], ids=["plain", "locations"])
@few
@given(module=programs())
def test_disassembly_of_a_program_prints_back_unchanged(module, debug_info):
    text = print_disassembly(module, debug_info)
    again = parse_text(text)
    tileir.verify(again)
    assert print_disassembly(again, debug_info) == text


@few
@given(module=programs())
def test_printing_does_not_change_the_program(module):
    before = print_operation(module, generic=True, debug_info=True)
    print_operation(module, debug_info=True)
    print_disassembly(module, True)
    assert print_operation(module, generic=True, debug_info=True) == before


def test_same_seed_gives_the_same_program():
    texts = [print_operation(random_module(Random(11)), debug_info=True) for _ in range(2)]
    assert texts[0] == texts[1]


def test_programs_without_draft_forms_hold_only_public_operations():
    for seed in range(40):
        for operation in random_module(Random(seed), version=V13_2, draft_forms=False, discardable=False).walk():
            since = operation.declaration.since
            assert since is not None and since <= V13_2
            assert set(operation.attributes) <= set(operation.declaration.inherent)


def test_programs_of_chosen_operations_hold_nothing_else_but_what_feeds_them():
    found = set()
    for seed in range(10):
        for operation in random_module(Random(seed), operations=["addi", "muli"]).walk():
            found.add(operation.declaration.mnemonic)
    assert {"addi", "muli"} <= found <= {"module", "entry", "global", "return", "constant", "addi", "muli"}


# --- what cannot be told apart in NVIDIA's text ---

PROGRAM = """
cuda_tile.module @m {
  entry @k(%p: tile<ptr<i1>>) {
    %b = constant <i1: true> : tile<i1>
    %c = constant <i32: 1> : tile<i32>
    BODY
  }
}
"""


def reread(body: str) -> tuple[Operation, Operation]:
    module = tileir.parse(PROGRAM.replace("BODY", body))
    tileir.verify(module)
    again = tileir.parse(str(module))
    tileir.verify(again)
    return module, again


def test_single_result_of_a_function_type_reads_back_from_the_generic_form():
    """Its arrow must not be taken for another one of the list of types, as in MLIR."""
    module = tileir.parse("""cuda_tile.module @m { entry @k(%c: tile<i1>) {
      %f = "cuda_tile.if"(%c) ({}, {}) : (!cuda_tile.tile<i1>) -> ((!cuda_tile.tile<i1>) -> ())
    } }""")
    generic = module.text(generic=True)
    assert ": (!cuda_tile.tile<i1>) -> ((!cuda_tile.tile<i1>) -> ())" in generic
    assert tileir.parse(generic).text(generic=True) == generic


LONE_PADDING = (
    '%r, %t = "cuda_tile.load_ptr_tko"(%p, %b) <{memory_ordering_semantics = 0 : i32, '
    "operandSegmentSizes = array<i32: 1, 0, 1, 0>}> : (tile<ptr<i1>>, tile<i1>) -> (tile<i1>, token)"
)


def test_lone_padding_value_of_i1_is_printed_generically_and_reads_back_as_padding():
    module, again = reread(LONE_PADDING)
    assert '"cuda_tile.load_ptr_tko"' in str(module)
    assert structurally_equal(module, again)


def test_lone_padding_value_of_i1_prints_as_nvidia_does_in_disassembly():
    module, _ = reread(LONE_PADDING)
    assert "load_ptr_tko weak %arg0, %true : tile<ptr<i1>>, tile<i1> -> tile<i1>, token" in print_disassembly(module)


@pytest.mark.parametrize("operands", ["%p, %b", "%p, %b, %b"], ids=["mask", "mask and padding"])
def test_mask_of_a_load_is_printed_in_custom_form(operands):
    types = ", ".join(["tile<ptr<i1>>", "tile<i1>", "tile<i1>"][: operands.count(",") + 1])
    module, again = reread(f"%r, %t = load_ptr_tko weak {operands} : {types} -> tile<i1>, token")
    assert '"cuda_tile.load_ptr_tko"' not in str(module)
    assert structurally_equal(module, again)


def test_promise_about_no_dimension_survives_printing():
    module, again = reread(
        "%l = constant <i64: 0> : tile<i64>\n"
        "%f = int_to_ptr %l : tile<i64> -> tile<ptr<f32>>\n"
        "%tv = make_tensor_view %f, shape = [4], strides = [1] : tensor_view<4xf32, strides=[1]>\n"
        "%v = make_partition_view %tv : partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>\n"
        "%x, %t = load_view_tko weak %v[%c] inbounds = [false] : "
        "partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>, tile<i32> -> tile<4xf32>, token"
    )
    assert structurally_equal(module, again)
    assert "inbounds = [false]" in str(module)
    assert "inbounds" not in print_disassembly(module)


@pytest.mark.parametrize(
    ("hints", "disassembled"),
    [
        ("<>", "entry @e() {"),
        ("<sm_90 = {latency = 4 : i32}>", "optimization_hints=<sm_90 = {latency = 4}>"),
        ('<sm_90 = {"a b" = 1.5 : f32}>', "optimization_hints=<sm_90 = {a b = 1.500000e+00}>"),
        ("<sm_90 = {x = dense<[1, 2]> : !cuda_tile.tile<2xi8>}>", "optimization_hints=<sm_90 = {x = dense<[1, 2]>}>"),
    ],
    ids=["empty", "odd integer", "odd name", "dense"],
)
def test_hints_that_nvidia_abridges_survive_printing(hints, disassembled):
    module = tileir.parse(f"cuda_tile.module @m {{ entry @e() optimization_hints={hints} {{ }} }}")
    assert structurally_equal(module, tileir.parse(str(module)))
    assert structurally_equal(module, tileir.parse(module.text(generic=True)))
    assert disassembled in print_disassembly(module)


def test_module_without_a_block_and_module_with_an_empty_one_stay_apart():
    without = tileir.parse('"cuda_tile.module"() <{sym_name = "m"}> ({}) : () -> ()')
    empty = tileir.parse("cuda_tile.module @m {}")
    assert not structurally_equal(without, empty)
    for module in (without, empty):
        for generic in (False, True):
            assert structurally_equal(module, tileir.parse(module.text(generic=generic)))


def test_location_of_an_omitted_terminator_survives_printing():
    module, _ = reread('if %b { } loc("a.py":1:1)\n if %b { yield loc("b.py":2:2) } loc("a.py":3:3)')
    text = module.text(debug_info=True)
    assert text.count("yield") == 1
    assert structurally_equal(module, tileir.parse(text), locations=True)
    assert "yield" not in print_disassembly(module, True)


def test_opaque_location_prints_as_its_fallback():
    module, _ = reread("")
    entry = module.regions[0].block.first
    assert entry is not None
    entry.location = OpaqueLocation("handle", file_location("a.py", 4, 2))
    again = tileir.parse(module.text(debug_info=True))
    assert again.regions[0].block.first.location is file_location("a.py", 4, 2)


# --- coverage ---


class Seen:
    """What occurred in a number of programs."""

    def __init__(self) -> None:
        self.operations: set[str] = set()
        self.options: set[tuple[str, str, bool]] = set()
        self.cases: set[EnumAttribute] = set()
        self.classes: set[type] = set()
        self.elements: set[Type] = set()
        self.shapes: set[str] = set()
        self._known: set[Attribute] = set()

    def add(self, operation: Operation) -> None:
        declaration = operation.declaration
        self.operations.add(declaration.name)
        for declared in declaration.attributes:
            if declared.optional or declared.default is not None:
                self.options.add((declaration.name, declared.name, declared.name in operation.attributes))
        for operand in declaration.operands:
            if operand.count != ONE:
                self.options.add((declaration.name, operand.name, bool(operation.operand_group(operand.name))))
        for value in (*operation.attributes.values(), *declaration.defaults.values()):
            self.add_attribute(value)
        self.add_attribute(operation.location)
        for typed in (*operation.operands, *operation.results):
            self.add_type(typed.type)

    def add_attribute(self, attribute: Attribute) -> None:
        if attribute in self._known:
            return
        self._known.add(attribute)
        self.classes.add(type(attribute))
        if isinstance(attribute, EnumAttribute):
            self.cases.add(attribute)
        if isinstance(attribute, DenseAttribute):
            shape = "splat" if attribute.is_splat else "hexadecimal" if attribute.count > 100 else "list"
            self.shapes.add(f"{attribute.element_type.spelling} {shape}")
        for inner in children(attribute):
            self.add_attribute(inner)

    def add_type(self, type_: Type) -> None:
        self.classes.add(type(type_))
        if isinstance(type_, TileType):
            element = type_.element
            self.elements.add(element.pointee if isinstance(element, PointerType) else element)
        if isinstance(type_, TileViewType) and type_.padding is not None:
            self.cases.add(type_.padding)


@pytest.fixture(scope="module")
def seen() -> Seen:
    found = Seen()
    for seed in range(300):
        for operation in random_module(Random(seed), size=50, wrapped=seed % 5 == 0).walk():
            found.add(operation)
    return found


def test_generator_covers_every_declared_operation(seen):
    declared = {d.name for d in REGISTRY.declarations() if not d.testing}
    assert declared - seen.operations == set()
    assert len(declared_operations()) > 100


def test_generator_covers_every_enumerator(seen):
    cases = {case for kind in ENUM_KINDS.values() for case in kind.cases.values()}
    assert {case.text for case in cases - seen.cases} == set()
    assert set(PADDING.cases.values()) <= seen.cases


def test_generator_covers_optional_attributes_and_operands_present_and_absent(seen):
    # Each of these cannot be absent or present in a valid program, or only with a meaning of its own.
    never = {
        ("cuda_tile.ftoi", "rounding_mode", True),
        ("cuda_tile.itof", "rounding_mode", True),
        ("cuda_tile.join_tokens", "tokens", False),
        ("cuda_tile.reduce", "operands", False),
        ("cuda_tile.scan", "operands", False),
        ("cuda_tile.load_view_tko", "index", False),
        ("cuda_tile.store_view_tko", "index", False),
        ("cuda_tile.atomic_red_view_tko", "index", False),
        ("cuda_tile.multimem_load_reduce_view_tko", "index", False),
        ("cuda_tile.multimem_reduce_view_tko", "index", False),
        ("cuda_tile.multimem_store_view_tko", "index", False),
        ("cuda_tile.return", "operands", True),
        ("builtin.module", "sym_visibility", True),
    }
    wanted = set()
    for declaration in REGISTRY.declarations():
        if declaration.testing:
            continue
        for declared in declaration.attributes:
            if declared.optional or declared.default is not None:
                wanted |= {(declaration.name, declared.name, present) for present in (False, True)}
        for operand in declaration.operands:
            if operand.count != ONE:
                wanted |= {(declaration.name, operand.name, present) for present in (False, True)}
    assert wanted - seen.options - never == set()
    assert never & seen.options == set()


def test_generator_covers_every_element_type(seen):
    assert {*number_palette(V13_4), I4} - seen.elements == set()


def test_generator_covers_every_kind_of_constant(seen):
    for element in number_palette(V13_4):
        for shape in ("splat", "list", "hexadecimal"):
            assert f"{element.spelling} {shape}" in seen.shapes


def test_generator_covers_every_kind_of_type_attribute_and_location(seen):
    wanted = {
        *(TokenType, TensorViewType, PartitionViewType, StridedViewType, GatherScatterViewType),
        *(DivByAttribute, BoundedAttribute, SameElementsAttribute, OptimizationHintsAttribute, CuteAttribute),
        *(UnknownLocation, FileLocation, NameLocation, CallSiteLocation, FusedLocation),
        *(DILocation, DILexicalBlock, DISubprogram, DICompileUnit, DIFile),
    }
    assert wanted - seen.classes == set()
