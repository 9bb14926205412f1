"""Atomic operations, and loads and stores with an order: which instructions they become, and who makes them."""

from __future__ import annotations

import re

import pytest
from tests.execute.gpu.triton.lowered_programs import entry, lowered, ptx

from tileir.execute.gpu.errors import TritonError
from tileir.execute.gpu.triton.worker.pool import Request, compile_ttir

MODES = [
    *[(mode, "i32") for mode in ("and", "or", "xor", "add", "max", "min", "umax", "umin", "xchg")],
    *[(mode, "i64") for mode in ("and", "or", "xor", "add", "max", "min", "umax", "umin", "xchg")],
    *[("addf", element) for element in ("f16", "bf16", "f32", "f64")],
    ("xchg", "f32"),
    ("xchg", "f64"),
]
INSTRUCTIONS = {
    ("and", "i32"): "and.b32",
    ("add", "i64"): "add.u64",
    ("max", "i32"): "max.s32",
    ("umin", "i64"): "min.u64",
    ("xchg", "f64"): "exch.b64",
    ("addf", "f16"): "add.noftz.f16",
    ("addf", "f32"): "add.f32",
    ("addf", "f64"): "add.f64",
}


def pointers(count: int, element: str) -> str:
    """`%ps` and `%qs`: where `%p` and `%q` point to, and the elements behind them; `%m`: the first three."""
    if count == 1:
        return (
            " %ps = assume div_by<4>, %p : tile<ptr<E>>\n %qs = assume div_by<4>, %q : tile<ptr<E>>\n"
            " %c3 = constant <i32: 3> : tile<i32>\n %m = cmpi less_than %n, %c3, signed : tile<i32> -> tile<i1>\n"
        ).replace("E", element)
    return f"""
 %i = iota : tile<{count}xi32>
 %c3 = constant <i32: 3> : tile<{count}xi32>
 %m = cmpi less_than %i, %c3, signed : tile<{count}xi32> -> tile<{count}xi1>
 %p1 = reshape %p : tile<ptr<{element}>> -> tile<1xptr<{element}>>
 %q1 = reshape %q : tile<ptr<{element}>> -> tile<1xptr<{element}>>
 %pb = broadcast %p1 : tile<1xptr<{element}>> -> tile<{count}xptr<{element}>>
 %qb = broadcast %q1 : tile<1xptr<{element}>> -> tile<{count}xptr<{element}>>
 %ps = offset %pb, %i : tile<{count}xptr<{element}>>, tile<{count}xi32> -> tile<{count}xptr<{element}>>
 %qs = offset %qb, %i : tile<{count}xptr<{element}>>, tile<{count}xi32> -> tile<{count}xptr<{element}>>
"""


def kernel(count: int, element: str, body: str) -> str:
    """A kernel that does something with elements `%v` from `%qs` and stores the result `%o` there."""
    dimensions = "" if count == 1 else f"{count}x"
    body = body.replace("PTRS", f"tile<{dimensions}ptr<{element}>>").replace("TILE", f"tile<{dimensions}{element}>")
    body = body.replace("MASK", f"tile<{dimensions}i1>")
    load = (
        f" %v, %t0 = load_ptr_tko weak %qs : tile<{dimensions}ptr<{element}>> -> tile<{dimensions}{element}>, token\n"
    )
    store = (
        f" %t9 = store_ptr_tko weak %qs, %o : tile<{dimensions}ptr<{element}>>, tile<{dimensions}{element}> -> token"
    )
    parameters = f"%p: tile<ptr<{element}>>, %q: tile<ptr<{element}>>, %n: tile<i32>"
    return entry(pointers(count, element) + load + body + store, parameters)


def rmw(count: int, mode: str, element: str, ordering: str = "relaxed", scope: str = "device", mask: str = "") -> str:
    given, type = (", %m", ", MASK") if mask else ("", "")
    return kernel(
        count,
        element,
        f" %o, %t1 = atomic_rmw_tko {ordering} {scope} %ps, {mode}, %v{given} : PTRS, TILE{type} -> TILE, token\n",
    )


def cas(count: int, element: str, ordering: str = "relaxed", scope: str = "device", mask: str = "") -> str:
    given, type = (", %m", ", MASK") if mask else ("", "")
    return kernel(
        count,
        element,
        f" %o, %t1 = atomic_cas_tko {ordering} {scope} %ps, %v, %v{given} : PTRS, TILE{type} -> TILE, token\n",
    )


def loading(count: int, element: str, ordering: str, scope: str, mask: str = "") -> str:
    given, type = (", %m, %v", ", MASK, TILE") if mask else ("", "")
    text = f" %o, %t1 = load_ptr_tko {ordering} {scope} %ps{given} : PTRS{type} -> TILE, token\n"
    return kernel(count, element, text)


def storing(count: int, element: str, ordering: str, scope: str, mask: str = "") -> str:
    given, type = (", %m", ", MASK") if mask else ("", "")
    text = f" %t1 = store_ptr_tko {ordering} {scope} %ps, %v{given} : PTRS, TILE{type} -> token\n"
    return kernel(count, element, text).replace("%o", "%v")


# --- read, modify, write ---


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize(("mode", "element"), INSTRUCTIONS)
def test_each_mode_is_an_instruction(mode: str, element: str) -> None:
    made = ptx(rmw(256, mode, element))
    operation, _, type = INSTRUCTIONS[mode, element].rpartition(".")
    # Newer GPUs take several at once.
    assert re.search(rf"atom\.global\.gpu\.relaxed\.{re.escape(operation)}(\.v\d)?\.{type}\b", made)


@pytest.mark.usefixtures("triton")
@pytest.mark.long
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize(("mode", "element"), MODES)
@pytest.mark.parametrize("count", [1, 8, 256])
def test_every_mode_compiles_with_every_order(mode: str, element: str, target: str, count: int) -> None:
    for ordering, scope in (("relaxed", "tl_blk"), ("acquire", "device"), ("release", "sys"), ("acq_rel", "device")):
        assert ptx(rmw(count, mode, element, ordering, scope, "masked"), target)


def test_masked_elements_of_a_result_are_zero() -> None:
    text = lowered(rmw(256, "add", "i32", mask="masked")).text
    atomic, mask = re.search(r"(%\d+) = tt.atomic_rmw add, relaxed, gpu, %\d+, %\d+, (%\d+) :", text).groups()
    assert re.search(rf"arith.select {mask}, {atomic}, %\d+ : tensor<256xi1>, tensor<256xi32>", text)


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_bf16_is_added_on_gpus_without_an_instruction_for_it(target: str) -> None:
    made = ptx(rmw(256, "addf", "bf16"), target)
    assert re.search(r"add\.noftz(\.v2)?\.bf16" if target == "sm_90" else r"cas\.b32", made)


def test_a_release_comes_after_a_barrier_and_an_acquire_before_one() -> None:
    lines = [line.strip() for line in lowered(rmw(1, "add", "i32", "acq_rel")).text.splitlines()]
    (place,) = [number for number, line in enumerate(lines) if "tt.atomic_rmw" in line]
    assert "barrier" in lines[place - 1] and "barrier" in lines[place + 1]
    assert "barrier" not in lowered(rmw(1, "add", "i32")).text.partition("atomic_rmw")[2].partition("tt.store")[0]


# --- compare and swap ---


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize("element", ["i32", "i64", "f32", "f64"])
@pytest.mark.parametrize(("count", "mask"), [(1, ""), (64, ""), (64, "masked")])
def test_compare_and_swap(element: str, count: int, mask: str) -> None:
    made = ptx(cas(count, element, "acquire", mask=mask))
    assert re.search(rf"@%?p\d* atom\.(global\.)?acquire\.gpu\.(global\.)?cas\.b{element[1:]}", made)


@pytest.mark.parametrize(("element", "bits"), [("f32", "i32"), ("f64", "i64")])
def test_gpus_of_amd_swap_bits(triton: None, element: str, bits: str) -> None:
    made = lowered(cas(256, element), "gfx942")
    (line,) = [each for each in made.text.splitlines() if "tt.atomic_cas" in each]
    assert f"tensor<256x{bits}>" in line and element not in line
    assert compile_ttir(Request(made.text, "gfx942", made.options, last="hsaco")).data


def test_masked_elements_of_a_swap_are_what_is_expected() -> None:
    text = lowered(cas(256, "i32", mask="masked")).text
    # The value that is stored at the end is chosen by the mask, and what is expected is the one that was loaded.
    stored = re.search(r"tt.store %\d+, (%\d+)", text)
    expected = re.search(r"(%\d+) = tt.load", text)
    assert stored is not None and expected is not None
    assert re.search(rf"{stored[1]} = arith.select %\d+, %\d+, {expected[1]} :", text)


# --- reductions into views ---


@pytest.mark.usefixtures("triton")
def test_a_reduction_into_a_view_leaves_out_what_is_not_in_the_tensor() -> None:
    made = ptx(
        entry("""
 %x, %y, %z = get_tile_block_id : tile<i32>
 %v = constant <f32: 1.0> : tile<256xf32>
 %t = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
 %w = make_partition_view %t : partition_view<tile=(256), tensor_view<?xf32, strides=[1]>>
 %t1 = atomic_red_view_tko relaxed device %w[%x], addf, %v : tile<256xf32>, partition_view<tile=(256), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token""")
    )
    assert re.search(r"@%p\d+ (atom|red)\.(global\.)?gpu\.(global\.)?relaxed(\.global)?\.add(\.v\d)?\.f32", made)


# --- loads and stores with an order ---


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize("scope", [("tl_blk", "cta"), ("device", "gpu"), ("sys", "sys")])
def test_ordered_loads_and_stores_are_instructions(scope: tuple[str, str]) -> None:
    given, wanted = scope
    assert f"ld.acquire.{wanted}.global.b32" in ptx(loading(256, "f32", "acquire", given, "masked"))
    assert f"st.release.{wanted}.global.b16" in ptx(storing(256, "f16", "release", given, "masked"))


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize("element", ["i1", "f4E2M1FN", "i8", "i64", "bf16", "f8E5M2", "f64"])
def test_ordered_elements_of_every_width(element: str) -> None:
    bits = {"i1": 8, "f4E2M1FN": 8, "i8": 8, "i64": 64, "bf16": 16, "f8E5M2": 8, "f64": 64}[element]
    assert f"ld.relaxed.gpu.global.b{bits}" in ptx(loading(8, element, "relaxed", "device", "masked"))
    stored = ptx(storing(8, element, "relaxed", "device", "masked"))
    assert (
        f"atom.global.gpu.relaxed.exch.b{bits}" in stored if bits > 16 else f"st.relaxed.gpu.global.b{bits}" in stored
    )


@pytest.mark.usefixtures("triton")
def test_an_ordered_access_to_one_element_is_made_by_one_thread() -> None:
    made = ptx(loading(1, "i32", "acquire", "device"))
    (load,) = [line for line in made.splitlines() if "ld.acquire" in line]
    predicate = re.search(r"setp.ne.b32 p, (%r\d+), 0;", load)
    assert predicate is not None
    # Whether a thread takes part depends on its number.
    assert re.search(rf"selp\.b32\s+{predicate[1]}, 1, 0, %p\d+;", made) and "%tid.x" in made


def test_an_order_that_no_gpu_has_names_the_engines_that_have_it() -> None:
    text = """cuda_tile.module @m {
      entry @k(%p: tile<ptr<f32>>) {
        %x = constant <f32: 1.0> : tile<f32>
        %r, %t = atomic_cas_tko seq_cst device %p, %x, %x : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
        return
      }
    }"""
    with pytest.raises(TritonError, match=r"'seq_cst', which .*; backend='cpu' or 'interpreter' has it"):
        lowered(text)
