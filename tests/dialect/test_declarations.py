"""The declarations are complete, agree with the roster, and their examples are programs."""

from __future__ import annotations

import re
import subprocess
import sys
from types import CodeType, FunctionType
from typing import Any

import pytest
from tests.dialect.roster import DRAFT_NAMES, DRAFT_SECTIONS, LATER, PUBLIC

import tileir
from tileir.analyze.documentation.examples import missing_values, program_of
from tileir.dialect import ops
from tileir.dialect.ops import testing
from tileir.ir.core import Operation
from tileir.ir.declaration import ONE, OperationDeclaration
from tileir.ir.registry import REGISTRY, unregistered
from tileir.ir.traits import ATOMIC, BLOCK_ORDER, NO_MEMORY_EFFECT, PURE, REGION_EFFECTS, TOKEN_ORDERED
from tileir.ir.traversal import memory_changes
from tileir.ir.versions import V13_1

DECLARATIONS = [d for d in REGISTRY.declarations() if d.name.startswith("cuda_tile.") and not d.testing]
DOCUMENTED = [d for d in REGISTRY.declarations() if not d.testing]


def declared(name: str) -> OperationDeclaration:
    return REGISTRY.by_name[f"cuda_tile.{name}"]


# --- the constants ---


def constant_name(declaration: OperationDeclaration) -> str:
    """The mnemonic in upper case; in front of it the dialect, where it is not this one."""
    return declaration.name.removeprefix("cuda_tile.").replace(".", "_").replace("$", "_").upper()


def test_every_declaration_is_a_constant_of_the_package_and_nothing_else_is() -> None:
    assert {name: getattr(ops, name) for name in ops.__all__} == {constant_name(d): d for d in DOCUMENTED}
    assert sorted(ops.__all__) == list(ops.__all__)


def test_chapters_are_loaded_when_one_of_their_operations_is_asked_for_and_come_in_the_same_order() -> None:
    program = """
import sys
from tileir.dialect import ops
from tileir.ir.registry import REGISTRY

def chapters():
    return sorted(name[19:] for name in sys.modules if name.startswith("tileir.dialect.ops."))

print(*chapters())
assert REGISTRY.find("cuda_tile.mmaf").opcode == 73 and REGISTRY.find("cuda_tile.nothing") is None
REGISTRY.with_opcode(2)
print(*chapters())
print(*[declaration.name for declaration in REGISTRY.declarations()])
"""
    programs = [program.replace("REGISTRY.find", "ops.MMAF; REGISTRY.with_opcode(62); REGISTRY.find"), program]
    programs[1] = program.replace(' and REGISTRY.find("cuda_tile.nothing") is None', "")
    first, second = (
        subprocess.run([sys.executable, "-c", each], capture_output=True, text=True, check=True).stdout.splitlines()
        for each in programs
    )
    assert first[0] == second[0] == ""
    assert second[1].split() == ["floating_point", "matrix"]
    # One that nobody declares is looked for everywhere.
    assert set(first[1].split()) == set(ops.CHAPTERS)
    assert first[2] == second[2] == " ".join([d.name for d in DOCUMENTED])


def test_the_operations_of_the_test_suite_are_constants_of_their_module() -> None:
    found = {name: value for name, value in vars(testing).items() if isinstance(value, OperationDeclaration)}
    assert {name: d for name, d in found.items() if d.testing} == {
        constant_name(d): d for d in REGISTRY.declarations() if d.testing
    }
    assert {name for name, d in found.items() if not d.testing} <= set(ops.__all__)


# --- the roster ---


def test_the_roster_has_the_numbers_the_sources_give() -> None:
    assert len(DRAFT_SECTIONS) == 104
    counts = [sum(version == (13, minor) for version, _ in PUBLIC.values()) for minor in (1, 2, 3, 4, 5)]
    assert counts == [92, 1, 7, 5, 4]


@pytest.mark.parametrize("name", DRAFT_SECTIONS)
def test_every_operation_of_the_draft_is_declared_with_its_section(name: str) -> None:
    section = DRAFT_SECTIONS[name]
    # The draft has tanh under two names; the declaration cites the section of the public one.
    if DRAFT_NAMES.get(name) in DRAFT_SECTIONS:
        section = DRAFT_SECTIONS[DRAFT_NAMES[name]]
    assert declared(name).section == section


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_operation_is_declared_with_its_version_and_opcode(name: str) -> None:
    version, opcode = PUBLIC[name]
    assert (declared(name).since, declared(name).opcode) == (version, opcode)


@pytest.mark.parametrize("name", DRAFT_NAMES)
def test_a_name_only_the_draft_has_is_read_as_the_public_operation(name: str) -> None:
    assert declared(name) is declared(DRAFT_NAMES[name])


def test_the_newest_version_spells_pow_differently() -> None:
    power = declared("pow")
    assert declared("fpowf") is power
    assert (power.spelled_name((13, 3)), power.spelled_name((13, 4))) == ("pow", "fpowf")


def test_nothing_is_declared_that_the_roster_does_not_have() -> None:
    # The condition form of the operations draft's assume is an operation of its own (docs/reference/conflicts.md C1).
    known = {*PUBLIC, *DRAFT_SECTIONS, "assume_cond"}
    assert [d.name for d in DECLARATIONS if d.mnemonic not in known] == []


def test_operations_without_public_version_have_no_opcode_and_say_how_they_are_made_public() -> None:
    draft_only = {d.mnemonic for d in DECLARATIONS if d.draft_only}
    assert draft_only == {*DRAFT_SECTIONS, "assume_cond"} - {*PUBLIC, *DRAFT_NAMES}
    for name in draft_only:
        assert declared(name).opcode is None, name
        assert declared(name).legalization, name


def test_opcodes_are_unique() -> None:
    opcodes = [d.opcode for d in DECLARATIONS if d.opcode is not None]
    assert len(opcodes) == len(set(opcodes)) == len(PUBLIC)


def pieces(declaration: OperationDeclaration) -> list[Any]:
    """The operands, attributes and results, each with a name, words and the version that brought it."""
    return [*declaration.operands, *declaration.attributes, *declaration.results]


def test_operands_attributes_and_results_carry_the_version_that_brought_them() -> None:
    found = {
        (d.mnemonic, piece.name): piece.since
        for d in DECLARATIONS
        for piece in pieces(d)
        if piece.since is not None and d.since is not None and piece.since > d.since
    }
    assert found == LATER


def test_nothing_is_older_than_the_operation_it_belongs_to() -> None:
    for d in DECLARATIONS:
        for piece in pieces(d):
            assert piece.since is None or piece.since >= (d.since or V13_1), (d.name, piece.name)


# --- the words ---


@pytest.mark.parametrize("declaration", DOCUMENTED, ids=lambda d: d.name)
def test_a_declaration_is_documented(declaration: OperationDeclaration) -> None:
    assert declaration.chapter
    assert declaration.summary and declaration.summary[0].isupper() and not declaration.summary.endswith(".")
    assert declaration.description.endswith(".")
    assert declaration.example
    for piece in [*pieces(declaration), *declaration.regions]:
        assert piece.documentation and not piece.documentation.endswith("."), piece.name


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda d: d.name)
def test_a_declaration_says_where_it_comes_from(declaration: OperationDeclaration) -> None:
    assert declaration.section or declaration.since
    assert declaration.opcode is not None or declaration.draft_only


def test_words_in_backticks_name_things_that_exist() -> None:
    known = {d.mnemonic for d in DECLARATIONS} | {n for d in DECLARATIONS for n in (d.newer_mnemonic, *d.aliases) if n}
    for d in DOCUMENTED:
        for word in re.findall(r"`([a-z]\w*_tko)`", d.description + d.legalization):
            assert word in known, (d.name, word)


# --- memory ---

# The operand that leads to what is read, and the one that leads to what is written.
ACCESSES = {
    "load_ptr_tko": ("source", None),
    "load_view_tko": ("view", None),
    "atomic_load_tko": ("ptr", None),
    "store_ptr_tko": (None, "destination"),
    "store_view_tko": (None, "view"),
    "atomic_store_tko": (None, "ptr"),
    "atomic_rmw_tko": ("pointers", "pointers"),
    "atomic_cas_tko": ("pointers", "pointers"),
    "atomic_red_view_tko": ("view", "view"),
    "multimem_load_reduce_view_tko": ("view", None),
    "multimem_reduce_view_tko": ("view", "view"),
    "multimem_store_view_tko": (None, "view"),
}


def with_trait(trait: int) -> set[str]:
    return {d.mnemonic for d in REGISTRY.declarations() if d.has_trait(trait)}


def test_memory_operations_say_through_what_they_read_and_write_and_no_others_do() -> None:
    found = {d.mnemonic: (d.reads, d.writes) for d in REGISTRY.declarations() if d.reads or d.writes}
    assert found == ACCESSES
    assert {d.mnemonic for d in REGISTRY.declarations() if d.accesses_memory} == set(ACCESSES)


@pytest.mark.parametrize("name", ACCESSES)
def test_what_leads_to_memory_is_one_operand_of_pointers_or_a_view(name: str) -> None:
    places = {place for place in ACCESSES[name] if place is not None}
    (place,) = [operand for operand in declared(name).operands if operand.name in places]
    assert place.count == ONE
    assert place.constraint.description in ("tile of Pointer type values", "TileView instance")


def test_what_takes_an_ordering_accesses_memory_and_is_ordered_by_tokens() -> None:
    assert {d.mnemonic for d in DECLARATIONS if "memory_ordering_semantics" in d.inherent} == set(ACCESSES)
    assert set(ACCESSES) <= with_trait(TOKEN_ORDERED)
    assert not with_trait(TOKEN_ORDERED) & with_trait(PURE | NO_MEMORY_EFFECT | REGION_EFFECTS)


def test_the_atomics_are_those_of_their_chapter_and_the_reduction_on_several_devices() -> None:
    chapter = {d.mnemonic for d in DECLARATIONS if d.chapter == "Atomics"}
    assert with_trait(ATOMIC) == {*chapter, "multimem_reduce_view_tko"}


def test_printing_assertions_and_barriers_show_the_order_of_tile_blocks() -> None:
    assert with_trait(BLOCK_ORDER) == {"print_tko", "assert", "barrier"}


@pytest.mark.parametrize("declaration", [d for d in DECLARATIONS if not d.regions], ids=lambda d: d.name)
def test_memory_changes_at_writes_and_at_what_only_orders(declaration: OperationDeclaration) -> None:
    module = tileir.parse(program_of(declaration))
    operation = next(operation for operation in module.walk() if operation.declaration is declaration)
    fences = {"memory_fence_alias_tko", "gdc_launch_dependents_tko", "gdc_wait_tko", "print_tko", "barrier"}
    writers = {name for name, (_, written) in ACCESSES.items() if written is not None}
    assert (operation in memory_changes(operation)) == (declaration.mnemonic in writers | fences)


@pytest.mark.parametrize(
    ("inner", "changes"),
    [
        ("%t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token", True),
        ("%y, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token", False),
    ],
)
def test_a_region_changes_memory_if_something_deep_inside_does(inner: str, changes: bool) -> None:
    module = tileir.parse(
        "cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %x: tile<f32>, %c: tile<i1>) {"
        f" if %c {{ if %c {{ {inner} }} }} return }} }}"
    )
    outermost = next(operation for operation in module.walk() if operation.name == "cuda_tile.if")
    assert (outermost in memory_changes(outermost)) is changes


def test_an_operation_nobody_declared_may_change_memory() -> None:
    operation = Operation(unregistered("other.thing"), [], [])
    assert operation in memory_changes(operation)


# --- the examples ---


def test_missing_values_are_those_used_and_not_defined() -> None:
    statement = (
        '%r = for %i in (%lb to %ub, step %s) : tile<i32> iter_values(%a = %x) -> (tile<f32>) {\n  print "%d" %a\n}'
    )
    assert missing_values(statement) == ["%lb", "%ub", "%s", "%x"]


@pytest.mark.parametrize("declaration", DOCUMENTED, ids=lambda d: d.name)
def test_the_example_is_a_program(declaration: OperationDeclaration) -> None:
    module = tileir.parse(program_of(declaration))
    tileir.verify(module)
    assert any(operation.declaration is declaration for operation in module.walk())


@pytest.mark.parametrize("declaration", DOCUMENTED, ids=lambda d: d.name)
def test_the_example_prints_back(declaration: OperationDeclaration) -> None:
    printed = str(tileir.parse(program_of(declaration)))
    again = tileir.parse(printed)
    tileir.verify(again)
    assert str(again) == printed


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda d: d.name)
def test_the_example_is_spelled_as_the_printer_spells_it(declaration: OperationDeclaration) -> None:
    """Apart from names of values, blanks and the digits of floats."""
    printed = _normal(str(tileir.parse(program_of(declaration))))
    for line in declaration.example.splitlines():
        expected = _normal(line)
        if expected not in ("}", "yield", "return"):
            assert expected in printed, f"{expected}\nis not in\n{printed}"


def _normal(text: str) -> str:
    text = text.replace("pow ", "fpowf ") if "fpowf" not in text else text
    text = re.sub(r"^\s*%[^=\n]*=", "%=", text, flags=re.MULTILINE)
    text = re.sub(r"%[A-Za-z_]\w*(?:#\d+)?|%\d+(?:#\d+)?", "%", text)
    text = re.sub(r"\d+\.\d+(?:e[+-]\d+)?", lambda number: str(float(number[0])), text)
    return re.sub(r"\s+", "", text)


def test_rules_follow_from_the_groups_of_one_type() -> None:
    for declaration in DECLARATIONS:
        stated = [rule.same_type_names for rule in declaration.rules]
        assert all(stated.count(group) == 1 for group in declaration.same_types), declaration.name
        # What NVIDIA's verifier checks first is written out; otherwise the rules that follow come first.
        if stated[: len(declaration.same_types)] != list(declaration.same_types):
            assert declaration in (ops.ATOMIC_CAS_TKO, ops.ATOMIC_RMW_TKO)
    (rule,) = ops.FMA.rules
    assert rule.message == "failed to verify that all of {lhs, rhs, acc, result} have same type"


def names_used(function: Any, seen: set[Any]) -> set[str]:
    """The names that the code of a function uses, and that of the functions of this package it calls."""
    seen.add(function)
    codes, found = [function.__code__], set[str]()
    while codes:
        code = codes.pop()
        found.update(code.co_names)
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    for name in sorted(found):
        called = function.__globals__.get(name)
        if isinstance(called, FunctionType) and called not in seen and called.__module__.startswith("tileir.dialect"):
            found |= names_used(called, seen)
    return found


@pytest.mark.parametrize("declaration", REGISTRY.declarations(), ids=lambda each: each.mnemonic)
def test_a_verifier_that_reads_the_program_says_so(declaration: OperationDeclaration) -> None:
    """Others run once for each set of attributes and types."""
    if not isinstance(declaration.verify, FunctionType):
        # Not declared, or compiled.
        return
    around = {"defining_operation", "parent", "parent_operation", "symbols", "uses", "users", "next", "previous"}
    read = names_used(declaration.verify, set()) & around
    assert declaration.reads_program or not read, read
