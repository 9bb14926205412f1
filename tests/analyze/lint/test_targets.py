"""Advice about hardware: for the targets that are stated, or where it holds on all common ones."""

from __future__ import annotations

import pytest

import tileir
from tileir.analyze.lint.linting import lint
from tileir.analyze.lint.rules import RULES
from tileir.analyze.lint.targets import architecture_named
from tileir.ir.diagnostics import OptionError


def found(rule: str, text: str, target: str | tuple[str, ...] = ()) -> list[str]:
    module = tileir.parse(text, verify=True)
    return [each.message for each in lint(module, select=[rule], target=target)]


@pytest.mark.parametrize(
    ("text", "name"), [("h100", "sm_90"), ("RTX 5090", "sm_120"), ("sm_90a", "sm_90"), ("8.0", "sm_80")]
)
def test_targets_are_gpus_or_architectures(text: str, name: str) -> None:
    assert architecture_named(text).name == name


@pytest.mark.parametrize("text", ["h101", "sm_70", 90, ""])
def test_an_unknown_target_is_named_with_what_there_is(text: object) -> None:
    with pytest.raises(OptionError, match=r"there is no target .*: choose one of sm_80, .*h100"):
        architecture_named(text)


def test_without_a_target_it_has_to_hold_on_all_common_gpus() -> None:
    text = RULES["register-spill"].positive
    # On sm_100 sums are in a memory of their own.
    assert found("register-spill", text) == []
    assert found("register-spill", text, "sm_100") == []
    (message,) = found("register-spill", text, ("h100", "b200", "a100"))
    assert message.endswith("a tile block has 32640 on sm_90 and sm_80")


def test_more_warps_and_clusters_have_more_registers() -> None:
    text = RULES["register-spill"].positive
    for hint in ("num_worker_warps_per_cta = 8 : i32", "num_cta_in_cga = 2 : i32"):
        advised = text.replace(") {\n", f") optimization_hints = <sm_90 = {{{hint}}}> {{\n", 1)
        assert advised != text
        assert found("register-spill", advised, "sm_90") == []


def test_types_are_told_once_where_they_come_from() -> None:
    text = """entry @k(%p: tile<ptr<f4E2M1FN>>, %q: tile<ptr<bf16>>, %x: tile<bf16>) {
  %y, %t = atomic_rmw_tko relaxed device %q, addf, %x : tile<ptr<bf16>>, tile<bf16> -> tile<bf16>, token
  return
}"""
    assert found("unsupported-on-target", text) == []
    assert found("unsupported-on-target", text, ("sm_80", "sm_90", "sm_100")) == [
        "there is no f4E2M1FN on sm_80 and sm_90",
        "there is no atomic addition of bf16 on sm_80",
    ]
