"""Advice about hardware: for the targets that are stated, or where it holds on all common ones."""

from __future__ import annotations

import pytest

import tileir
from tileir.analyze.lint.linting import lint
from tileir.analyze.lint.rules import RULES
from tileir.analyze.lint.subject import architecture_named
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
    with pytest.raises(OptionError, match=r"is no GPU that Tile IR is compiled for: choose one of sm_80, .*h100"):
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


def test_a_target_that_is_none_is_a_mistake_of_the_options() -> None:
    with pytest.raises(OptionError, match="'sm_1' is no GPU"):
        lint(tileir.parse(RULES["f32-matmul"].positive), target="sm_1")


PRODUCT = """entry @k(%p: tile<ptr<i8>>) {{
  %a = constant <{element}: {one}> : tile<{m}x{k}x{element}>
  %b = constant <{element}: {one}> : tile<{k}x{n}x{element}>
  %c = constant <{total}: {one}> : tile<{m}x{n}x{total}>
  %d = {name} %a, %b, %c {signs}: tile<{m}x{k}x{element}>, tile<{k}x{n}x{element}>, tile<{m}x{n}x{total}>
  %t = print_tko "{format}", %d : tile<{m}x{n}x{total}> -> token
  return
}}"""


def product(m: int, n: int, k: int, element: str = "f16") -> str:
    is_integer = element == "i8"
    return PRODUCT.format(
        m=m,
        n=n,
        k=k,
        element=element,
        one="1" if is_integer else "1.0",
        total="i32" if is_integer else "f32",
        name="mmai" if is_integer else "mmaf",
        format="%d" if is_integer else "%f",
        signs="signed signed " if is_integer else "",
    )


@pytest.mark.parametrize(
    ("shape", "element", "words"),
    [
        ((8, 64, 64), "f16", "without tensor cores on sm_90"),
        ((64, 4, 64), "f16", "without tensor cores on sm_90"),
        ((64, 64, 8), "f16", "8 of 16 along K"),
        ((64, 64, 16), "i8", "16 of 32 along K"),
        ((64, 64, 4), "tf32", "4 of 8 along K"),
        ((32, 64, 64), "f16", "with the instructions of older GPUs on sm_90"),
    ],
)
def test_products_that_are_too_small_for_tensor_cores(shape: tuple[int, int, int], element: str, words: str) -> None:
    (message,) = found("idle-tensor-cores", product(*shape, element), "sm_90")
    assert words in message


@pytest.mark.parametrize(
    ("shape", "element", "target"),
    [
        ((64, 64, 16), "f16", "sm_90"),
        ((16, 8, 32), "i8", "sm_80"),
        ((16, 16, 16), "f16", "rtx5090"),
        ((64, 8, 8), "tf32", "sm_100"),
    ],
)
def test_products_that_fill_tensor_cores(shape: tuple[int, int, int], element: str, target: str) -> None:
    assert found("idle-tensor-cores", product(*shape, element), target) == []


def test_f32_that_was_f16_loses_nothing() -> None:
    text = """entry @k(%p: tile<ptr<i8>>) {
  %h = constant <f16: 1.0> : tile<64x64xf16>
  %a = ftof %h : tile<64x64xf16> -> tile<64x64xf32>
  %d = mmaf %a, %a, %a : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
  %t = print_tko "%f", %d : tile<64x64xf32> -> token
  return
}"""
    (message,) = found("f32-matmul", text, "h200")
    assert message == (
        "f32 is multiplied without tensor cores: as tf32 up to 7 times as fast on sm_90, and nothing is lost, since the "
        "operands are made of f16"
    )
    # Its tensor cores are no faster with tf32 on GPUs for games.
    assert "up to 2 times" in found("f32-matmul", text, "rtx5090")[0]


LOOPED = """entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {{
  %0 = constant <i32: 0> : tile<i32>
  %1 = constant <i32: 1> : tile<i32>
  %lane = iota : tile<256xi32>
  %scale = constant <i32: 4> : tile<256xi32>
  %first = muli %lane, %scale : tile<256xi32>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %ps = broadcast %p1 : tile<1xptr<f32>> -> tile<256xptr<f32>>
  %start = offset %ps, %first : tile<256xptr<f32>>, tile<256xi32> -> tile<256xptr<f32>>
  %end = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%q = %start) -> (tile<256xptr<f32>>) {{
    %x, %t = load_ptr_tko weak %q : tile<256xptr<f32>> -> tile<256xf32>, token
    %u = print_tko "%f", %x : tile<256xf32> -> token
    %next = offset %q, {way} : tile<256xptr<f32>>, tile<256xi32> -> tile<256xptr<f32>>
    continue %next : tile<256xptr<f32>>
  }}
  return
}}"""


def test_pointers_that_a_loop_moves_evenly_keep_their_steps() -> None:
    (message,) = found("uncoalesced-access", LOOPED.format(way="%scale"))
    assert "elements are 16 bytes apart" in message and "about 4 times" in message
    # Here each iteration has others, so nothing is claimed.
    assert found("uncoalesced-access", LOOPED.format(way="%lane")) == []


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        ("sm_80 = {num_cta_in_cga = 2 : i32}", "expected 1 for sm_80.num_cta_in_cga"),
        ("sm_120 = {occupancy = 20 : i32}", "20 tile blocks are advised on sm_120, which holds 12"),
        (
            "sm_90 = {occupancy = 16 : i32, num_worker_warps_per_cta = 8 : i32}",
            "16 tile blocks of 8 warps are advised on sm_90, which holds 8",
        ),
    ],
)
def test_hints_that_no_gpu_can_follow(hint: str, words: str) -> None:
    text = f"entry @k() optimization_hints=<{hint}> {{\n  return\n}}"
    assert found("contradicting-hints", text) == [words]


def test_a_store_that_some_tile_blocks_make_more_often_is_their_own() -> None:
    text = """entry @k(%p: tile<ptr<f32>>, %v: tile<f32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %0 = constant <i32: 0> : tile<i32>
  %1 = constant <i32: 1> : tile<i32>
  %q = for %i in (%0 to BOUND, step %1) : tile<i32> iter_values(%c = %p) -> (tile<ptr<f32>>) {
    %d = offset %c, %1 : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    continue %d : tile<ptr<f32>>
  }
  %u = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token
  return
}"""
    assert found("same-store-in-every-block", text.replace("BOUND", "%x")) == []
    assert len(found("same-store-in-every-block", text.replace("BOUND", "%1"))) == 1
