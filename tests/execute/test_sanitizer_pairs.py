"""Each finding of the sanitizer has a program that triggers it and a near twin that does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.execute.sanitizer_pairs import ACCESSES, COVERAGE_KINDS, OVERFLOW, PAIRS, PREDICATES, Pair

import tileir
from tileir.dialect import attributes, enums
from tileir.execute.arguments.argument_text import argument
from tileir.execute.observing.observer import Observers
from tileir.execute.sanitizer.events import AccessSemantics
from tileir.execute.sanitizer.report import KINDS
from tileir.ir.core import Operation
from tileir.ir.registry import REGISTRY

PAGE = (Path(__file__).parents[2] / "docs" / "tools" / "sanitizer.md").read_text(encoding="utf-8")


def report(pair: Pair, chosen: str, schedule: str = "forward") -> tileir.sanitizer.SanitizerReport:
    texts = pair.argument_texts(chosen)
    values = [argument(text, None) for text in texts]
    empty = [value for value, text in zip(values, texts, strict=True) if text.startswith("empty:")]
    sanitizer = tileir.sanitizer.Sanitizer(uninitialized=empty)
    kernel = tileir.compile(tileir.parse(pair.program(chosen), "k.mlir"))
    watching: tileir.observers.Observer = sanitizer
    if pair.kind in COVERAGE_KINDS:
        watching = Observers([sanitizer, tileir.sanitizer.Coverage(report=sanitizer.report)])
    kernel.launch(pair.grid, values, observer=watching, schedule=schedule)
    return sanitizer.report


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{pair.kind}: {pair.name}" for pair in PAIRS])
def test_mistake_is_found_and_its_near_twin_is_clean(pair: Pair) -> None:
    assert pair.text.count("HERE") + pair.arguments.count("HERE") >= 1
    found = report(pair, pair.wrong)
    assert set(found.kinds) == {pair.kind}, found.render()
    clean = report(pair, pair.right)
    assert not clean, clean.render()


@pytest.mark.parametrize("kind", KINDS)
def test_report_says_where_in_which_block_and_what_to_do(kind: str) -> None:
    for pair in PAIRS:
        if pair.kind != kind:
            continue
        finding = report(pair, pair.wrong).findings[0]
        first, place, *lines = finding.render().split("\n")
        assert first.startswith(f"{kind}: ")
        # What nobody writes happens in no tile block: which one ought to is said below.
        where = "" if kind == "unwritten" else r", tile block \(\d+, 0, 0\)"
        assert re.match(rf"  --> k\.mlir:\d+:\d+{where}", place), place
        assert finding.operation.declaration.mnemonic in lines[0]
        assert re.fullmatch(r" *\| *\^", lines[1]), lines[1]
        assert lines[-1].startswith("  = help: ")


@pytest.mark.parametrize("schedule", ["reverse", "random:5", "interleaved"])
def test_races_are_found_and_their_twins_clean_in_every_order(schedule: str) -> None:
    for pair in PAIRS:
        # What an acquire reads depends on who came first: in another order the handover does not take place.
        if pair.kind == "race" and "flag" not in pair.text:
            assert set(report(pair, pair.wrong, schedule).kinds) == {"race"}, pair.name
            assert not report(pair, pair.right, schedule), pair.name


# --- nothing is missing from the table ---


def test_every_kind_of_finding_is_in_the_table_and_on_the_page() -> None:
    assert {pair.kind for pair in PAIRS} == set(KINDS)
    assert re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE) == list(KINDS)


# These order what others do, and touch nothing themselves.
_TOUCH_NOTHING = {"print_tko", "gdc_wait_tko", "gdc_launch_dependents_tko", "memory_fence_alias_tko"}
# Operations on several devices: test_multimem.py has theirs.
_MULTIMEM = {"multimem_load_reduce_view_tko", "multimem_reduce_view_tko", "multimem_store_view_tko"}


def test_every_memory_operation_is_in_the_table() -> None:
    named = {name for name in REGISTRY.by_name if name.startswith("cuda_tile.") and name.endswith("_tko")}
    assert {name.removeprefix("cuda_tile.") for name in named} - _TOUCH_NOTHING - _MULTIMEM == set(ACCESSES)
    stores = [name for name in ACCESSES if "store" in name]
    for kind in COVERAGE_KINDS:
        texts = " ".join([pair.name for pair in PAIRS if pair.kind == kind])
        assert [name for name in stores if name not in texts] == [], kind
    for kind in ("out-of-bounds", "misaligned", "race", "unordered"):
        texts = " ".join([pair.name for pair in PAIRS if pair.kind == kind])
        assert [name for name in ACCESSES if name not in texts] == [], kind


def test_every_flag_of_every_operation_that_takes_one_is_in_the_table() -> None:
    flags = [flag for flag in enums.OVERFLOW.values if flag != "none"]
    pairs = {
        (declaration.mnemonic, flag)
        for declaration in REGISTRY.declarations()
        if "overflow" in [attribute.name for attribute in declaration.attributes]
        for flag in flags
    }
    # The verifier refuses this one.
    assert pairs - {("negi", "no_unsigned_wrap")} == set(OVERFLOW)


def test_every_predicate_is_in_the_table() -> None:
    names = {predicate.partition("<")[0] for predicate, *_ in PREDICATES}
    predicates = (
        attributes.DivByAttribute(2, None, None),
        attributes.BoundedAttribute(0, None, False),
        attributes.SameElementsAttribute((2,)),
    )
    assert {type(predicate) for predicate in predicates} == set(attributes.PredicateAttribute.__subclasses__())
    known = {predicate.name for predicate in predicates}
    assert {f"cuda_tile.{name}" for name in names} == known


def test_what_counts_as_an_access_is_what_the_table_has() -> None:
    for name, declaration in REGISTRY.by_name.items():
        known = declaration.mnemonic in {*ACCESSES, *_MULTIMEM}
        assert AccessSemantics(Operation(declaration, [], [])).is_access == known, name
