"""Every engine and every analysis knows each operation it should know, or says why not."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy", reason="the engines need NumPy")

from generators.support import Part, parts

from tileir.dialect.ops import ADDI, LOAD_PTR_TKO
from tileir.ir.declaration import OperationDeclaration

PARTS = parts()


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_no_operation_is_left_out_without_a_reason(part: Part) -> None:
    assert part.gaps() == []


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_no_reason_is_given_for_what_is_known_or_not_asked(part: Part) -> None:
    assert part.mistakes() == []


def test_the_questions_follow_from_the_declarations() -> None:
    def asked(declaration: OperationDeclaration) -> set[str]:
        return {part.name for part in PARTS if part.concerns(declaration)}

    everywhere = {"bytecode", "builder", "interpreter", "CPU backend", "Triton backend", "effects"}
    assert asked(ADDI) == everywhere | {"undefined numbers", "facts", "simplifier"}
    assert asked(LOAD_PTR_TKO) == everywhere | {"accesses", "number watch", "facts"}


def test_gaps_and_needless_reasons_are_seen() -> None:
    def one(knows: bool, left_out: dict[OperationDeclaration, str]) -> Part:
        return Part("a part", "", lambda each: each is ADDI, lambda each: knows, left_out)

    assert one(False, {}).gaps() == ["addi"]
    assert one(False, {ADDI: "hard"}).gaps() == []
    assert one(False, {ADDI: "hard", LOAD_PTR_TKO: "hard"}).mistakes() == ["load_ptr_tko"]
    assert "addi" in one(True, {ADDI: "hard"}).mistakes()
