"""The smallest programs that told the interpreter and an H200 apart, the hardware's bits beside ours.

FOLLOWED: the hardware was right, or is what users get, and both engines give its bits.
FREE: the dialect leaves it open and ours differs in exactly this way (docs/reference/numerics.md, "On hardware").
The programs in which NVIDIA's assembler seems wrong are in docs/internals/nvidia.md and `test_nvidia_page`.
"""

from __future__ import annotations

import numpy
import pytest
from tests.execute.exact_model import flushed_binary
from tests.hardware.measured import Measured, found, patterns

SIGNALLING = 0x7F800001


def _pointers(name: str, element: str, shape: str, rank: int) -> str:
    """Pointers to as many neighbors as a tile of a shape has; `%lane` counts them."""
    ones, point = "x".join(["1"] * rank), f"ptr<{element}>"
    return (
        f"%{name}_1 = reshape %{name} : tile<{point}> -> tile<{ones}x{point}>\n"
        f"%{name}_n = broadcast %{name}_1 : tile<{ones}x{point}> -> tile<{shape}x{point}>\n"
        f"%{name}_p = offset %{name}_n, %lane_{shape} : tile<{shape}x{point}>, tile<{shape}xi32> -> tile<{shape}x{point}>\n"
    )


def _lanes(*shapes: str) -> str:
    text = ""
    for shape in dict.fromkeys(shapes):
        count = int(numpy.prod([int(extent) for extent in shape.split("x")]))
        text += f"%count_{shape} = iota : tile<{count}xi32>\n"
        text += f"%lane_{shape} = reshape %count_{shape} : tile<{count}xi32> -> tile<{shape}xi32>\n"
    return text


def _kernel(parameters: dict[str, tuple[str, str]], body: str, result: tuple[str, str] | None) -> str:
    """Load each parameter (element and shape), run the body, and store its `%r` where `%to` points."""
    every = {**parameters, **({"to": result} if result is not None else {})}
    head = _lanes(*[shape for _, shape in every.values()])
    for name, (element, shape) in every.items():
        head += _pointers(name, element, shape, shape.count("x") + 1)
        if name != "to":
            tile = f"tile<{shape}xptr<{element}>> -> tile<{shape}x{element}>"
            head += f"%{name}_v, %{name}_t = load_ptr_tko weak %{name}_p : {tile}, token\n"
    tail = ""
    if result is not None:
        element, shape = result
        tail = f"%s = store_ptr_tko weak %to_p, %r : tile<{shape}xptr<{element}>>, tile<{shape}x{element}> -> token\n"
    declared = ", ".join([f"%{name}: tile<ptr<{element}>>" for name, (element, _) in every.items()])
    return f"cuda_tile.module @m {{ entry @k({declared}) {{\n{head}{body}\n{tail}return }} }}"


def _elementwise(
    name: str, operation: str, sources: list[str], target: str, operands: list[list[int]], ours: list[int],
    hardware: list[int] | None = None,
) -> Measured:  # fmt: skip
    """`operation` with %a_v, %b_v for operands and without its types, which follow."""
    count = len(operands[0])
    parameters = {letter: (element, str(count)) for letter, element in zip("ab", sources, strict=False)}
    types = f"tile<{count}x{sources[0]}>" + (
        f" -> tile<{count}x{target}>" if operation.split()[0] in _CONVERSIONS else ""
    )
    text = _kernel(parameters, f"%r = {operation} : {types}", (target, str(count)))
    arguments = [patterns(element, bits) for element, bits in zip(sources, operands, strict=True)]
    arguments.append(patterns(target, [0] * count))
    return Measured(name, text, arguments, len(sources), ours, ours if hardware is None else hardware)


_CONVERSIONS = ("ftof", "itof", "ftoi")


def _reduction(name: str, combination: str, identity: str, elements: list[int], ours: int, hardware: int) -> Measured:
    count = len(elements)
    body = (
        f"%r = reduce %a_v dim=0 identities=[{identity} : f32] : tile<{count}xf32> -> tile<f32> "
        f"(%x: tile<f32>, %y: tile<f32>) {{ %z = {combination} %x, %y : tile<f32> yield %z : tile<f32> }}\n"
        "%s = store_ptr_tko weak %out, %r : tile<ptr<f32>>, tile<f32> -> token"
    )
    text = _kernel({"a": ("f32", str(count))}, body, None).replace(
        "tile<ptr<f32>>)", "tile<ptr<f32>>, %out: tile<ptr<f32>>)", 1
    )
    return Measured(name, text, [patterns("f32", elements), patterns("f32", [0])], 1, [ours], [hardware])


FOLLOWED = [
    _reduction("reduce with a signalling NaN", "maxf", "0xFF800000", [0x40A00000, SIGNALLING, 0x3F800000, 0x3F000000], 0x40A00000, 0x40A00000),
    _elementwise(
        "ftof to f8E4M3FN", "ftof %a_v", ["f32"], "f8E4M3FN",
        [[0x43FA0000, 0x7F800000, 0xFF800000, 0x43E00000]], [0x7E, 0x7E, 0xFE, 0x7E],
    ),
    _elementwise(
        "ftof to f8E5M2", "ftof %a_v", ["f32"], "f8E5M2",
        [[0x49742400, 0x7F800000, 0xFF800000, 0x47600000]], [0x7B, 0x7B, 0xFB, 0x7B],
    ),
    _elementwise("itof to f8E4M3FN", "itof %a_v signed", ["i16"], "f8E4M3FN", [[0x3E8, 0xFC18]], [0x7E, 0xFE]),
    # The other element of this program is rounded twice by the assembler: docs/internals/nvidia.md.
    _elementwise("itof to f8E5M2", "itof %a_v signed", ["i32"], "f8E5M2", [[0x186A0, 0]], [0x7B, 0]),
    _elementwise("mulf", "mulf %a_v, %b_v flush_to_zero", ["f32", "f32"], "f32", [[0x29044A9D], [0x16F7B20C]], [0]),
    _elementwise("divf", "divf %a_v, %b_v flush_to_zero", ["f32", "f32"], "f32", [[0x00FFFFFF], [0x40000000]], [0]),
    _elementwise(
        "ftoi to i1", "ftoi %a_v unsigned saturating", ["f32"], "i1",
        [[0x3F000000, 0x00000000, 0xBE800000, 0x80000000]], [1, 0, 1, 0],
    ),
    Measured(
        "copies of tf32",
        _kernel({"a": ("tf32", "2")}, "%r = reshape %a_v : tile<2xtf32> -> tile<2xtf32>", ("tf32", "2")),
        [patterns("tf32", [SIGNALLING, 0x3F801FFF]), patterns("tf32", [0, 0])], 1,
        [SIGNALLING, 0x3F801FFF], [SIGNALLING, 0x3F801FFF],
    ),
    # The sum of constants is a tie: without `flush_to_zero` the assembler rounds it as it should (docs/internals/nvidia.md).
    Measured(
        "sum of constants",
        _kernel({}, "%x = constant <f32: 0x3DCCCCCD> : tile<4xf32>\n%y = constant <f32: 0xBCD4EE0A> : tile<4xf32>\n"
                "%r = addf %x, %y : tile<4xf32>", ("f32", "4")),
        [patterns("f32", [0] * 4)], 0, [0x3D97914A] * 4, [0x3D97914A] * 4,
    ),
]  # fmt: skip


def _integer_product(m: int, hardware: int) -> Measured:
    body = f"%r = mmai %a_v, %b_v, %c_v signed signed : tile<{m}x16xi8>, tile<16x16xi8>, tile<{m}x16xi32>"
    parameters = {"a": ("i8", f"{m}x16"), "b": ("i8", "16x16"), "c": ("i32", f"{m}x16")}
    text = _kernel(parameters, body, ("i32", f"{m}x16"))
    factors = [patterns("i8", [100] * 16 * m), patterns("i8", [100] * 256), patterns("i32", [0x7FFFFFF0] * 16 * m)]
    arguments = [*factors, patterns("i32", [0] * 16 * m)]
    return Measured(f"mmai {m}x16x16", text, arguments, 3, [0x800270F0] * 8, [hardware] * 8)


FOLLOWED.append(_integer_product(16, 0x800270F0))
# With `full` instead of `approx` divisors above 2**126 divide, and an identity of few elements is not used.
FOLLOWED.append(
    _elementwise(
        "divf full", "divf %a_v, %b_v rounding<full>", ["f32", "f32"], "f32",
        [[0x3F800000, 0x7F000000], [0x7F000000, 0x7E800001]], [0x00400000, 0x3FFFFFFE],
    )
)  # fmt: skip
FOLLOWED.append(_reduction("identity of few elements", "addf", "1.0", [0x3F800000] * 128, 0x43000000, 0x43000000))

_PRODUCT = "%zero = constant <f32: 0.0> : tile<4x4xf32>\n%r = mmaf %a_v, %b_v, %zero : tile<4x4xtf32>, tile<4x4xtf32>, tile<4x4xf32>"

FREE = [
    # Ours is NaN where nothing but NaN is reduced; the GPU has its identity among the operands.
    _reduction("reduce of NaN alone", "maxf", "0xFF800000", [0x7FC00000] * 2048, 0x7FC00000, 0xFF800000),
    # Tensor cores saturate, and wrap in small tiles (above).
    _integer_product(32, 0x7FFFFFFF),
    # Small tiles are multiplied as f32, low bits and all.
    Measured(
        "product of tf32 with low bits",
        _kernel({"a": ("tf32", "4x4"), "b": ("tf32", "4x4")}, _PRODUCT, ("f32", "4x4")),
        [patterns("tf32", [0x3F801FFF] * 16), patterns("tf32", [0x3F801FFF] * 16), patterns("f32", [0] * 16)], 2,
        [0x40800000] * 8, [0x40804006] * 8,
    ),
    # f32 atomic additions flush subnormal numbers.
    Measured(
        "atomic addition",
        _kernel(
            {"a": ("f32", "4"), "b": ("f32", "4")},
            "%o, %u = atomic_rmw_tko relaxed device %a_p, addf, %b_v : tile<4xptr<f32>>, tile<4xf32> -> tile<4xf32>, token",
            None,
        ),
        [patterns("f32", [0] * 4), patterns("f32", [0x00400000] * 4)], 0, [0x00400000] * 4, [0] * 4,
    ),
    # Of f32 and narrower types a GPU gives one NaN, of f64 the operand made quiet.
    _elementwise(
        "absf of NaN", "absf %a_v", ["f32"], "f32",
        [[0xFFC00000, 0xFFC00001]], [0x7FC00000, 0x7FC00001], [0x7FFFFFFF] * 2,
    ),
    _elementwise(
        "negf of NaN", "negf %a_v", ["f32"], "f32",
        [[0x7FC00000, 0xFFC00001]], [0xFFC00000, 0x7FC00001], [0x7FFFFFFF] * 2,
    ),
    _elementwise(
        "absf of NaN, f16", "absf %a_v", ["f16"], "f16", [[0x7C01, 0xFE00]], [0x7C01, 0x7E00], [0x7FFF] * 2,
    ),
    _elementwise(
        "absf of NaN, f64", "absf %a_v", ["f64"], "f64",
        [[0xFFF8 << 48, 0x7FF0000000000001]], [0x7FF8 << 48, 0x7FF0000000000001], [0xFFF8 << 48, 0x7FF8000000000001],
    ),
    # A GPU gives zero for divisors above 2**126.
    _elementwise(
        "divf approx", "divf %a_v, %b_v rounding<approx>", ["f32", "f32"], "f32",
        [[0x7F000000, 0x7F000000], [0x7F000000, 0x7E800001]], [0x3F800000, 0x3FFFFFFE], [0, 0],
    ),
    # In a reduction of more elements than 128 threads hold, each thread starts from the identity.
    _reduction("identity that is not neutral", "addf", "1.0", [0x3F800000] * 1024, 0x44800000, 0x44900000),
    # Fewer NaNs alone are a NaN, as ours; which one is not specified.
    _reduction("reduce of a few NaNs", "maxf", "0xFF800000", [0x7FC00000] * 64, 0x7FC00000, 0x7FFFFFFF),
]  # fmt: skip


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("case", FOLLOWED, ids=lambda case: case.name)
def test_engines_give_the_bits_of_the_hardware(case: Measured, backend: str) -> None:
    assert case.ours == case.hardware
    assert found(case, backend) == case.hardware


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("case", FREE, ids=lambda case: case.name)
def test_engines_differ_from_the_hardware_as_documented(case: Measured, backend: str) -> None:
    assert case.ours != case.hardware
    assert found(case, backend) == case.ours


@pytest.mark.parametrize("case", [*FOLLOWED, *FREE], ids=lambda case: case.name)
def test_what_our_optimizer_folds_has_the_same_bits(case: Measured) -> None:
    assert found(case, "interpreter", optimized=True) == case.ours


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_a_signalling_nan_becomes_a_quiet_one_when_it_is_converted_to_f16(backend: str) -> None:
    case = _elementwise("", "ftof %a_v", ["f32"], "f16", [[SIGNALLING, 0xFF800001]], [0, 0])
    for bits in found(case, backend):
        assert bits & 0x7E00 == 0x7E00


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_a_product_of_negative_zeros_keeps_the_sign_that_tensor_cores_lose(backend: str) -> None:
    body = "%r = mmaf %a_v, %b_v, %c_v : tile<4x4xf32>, tile<4x4xf32>, tile<4x4xf32>"
    text = _kernel({"a": ("f32", "4x4"), "b": ("f32", "4x4"), "c": ("f32", "4x4")}, body, ("f32", "4x4"))
    arguments = [patterns("f32", [bits] * 16) for bits in (0x80000000, 0x3F800000, 0x80000000, 0)]
    # Sums of products start from +0 on a GPU: 0x00000000.
    assert found(Measured("", text, arguments, 3, [0x80000000] * 16, [0] * 16), backend) == [0x80000000] * 16


# Copies of tf32 copy bits, whatever it is that copies.

_COPIES = {
    "views": "",
    "select": "%r = select %yes, %a_v, %a_v : tile<4xi1>, tile<4xtf32>",
    "shapes": (
        "%x = reshape %a_v : tile<4xtf32> -> tile<2x2xtf32>\n"
        "%y = permute %x [1, 0] : tile<2x2xtf32> -> tile<2x2xtf32>\n"
        "%z = permute %y [1, 0] : tile<2x2xtf32> -> tile<2x2xtf32>\n"
        "%r = reshape %z : tile<2x2xtf32> -> tile<4xtf32>"
    ),
    "bitcast": "%r = bitcast %a_v : tile<4xtf32> -> tile<4xtf32>",
    "pack and unpack": "%x = pack %a_v : tile<4xtf32> -> tile<16xi8>\n%r = unpack %x : tile<16xi8> -> tile<4xtf32>",
    "loop": (
        "%zero = constant <i32: 0> : tile<i32>\n%three = constant <i32: 3> : tile<i32>\n%one = constant <i32: 1> : tile<i32>\n"
        "%r = for %i in (%zero to %three, step %one) : tile<i32> iter_values(%x = %a_v) -> (tile<4xtf32>) {\n"
        "continue %x : tile<4xtf32> }"
    ),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("way", _COPIES)
def test_every_copy_of_tf32_copies_its_bits(way: str, backend: str) -> None:
    bits = [SIGNALLING, 0x3F801FFF, 0xFFBFFFFF, 0x00000001]
    text = _kernel(
        {"a": ("tf32", "4")}, _COPIES[way] or "%r = reshape %a_v : tile<4xtf32> -> tile<4xtf32>", ("tf32", "4")
    )
    text = text.replace("%count_4 =", "%yes = constant <i1: true> : tile<4xi1>\n%count_4 =")
    if way == "views":
        tensor = "tensor_view<4xtf32, strides=[1]>"
        view = f"partition_view<tile=(4), {tensor}>"
        text = (
            "cuda_tile.module @m { entry @k(%a: tile<ptr<tf32>>, %to: tile<ptr<tf32>>) {\n"
            "%zero = constant <i32: 0> : tile<i32>\n"
            f"%x = make_tensor_view %a, shape = [4], strides = [1] : {tensor}\n%xs = make_partition_view %x : {view}\n"
            f"%y = make_tensor_view %to, shape = [4], strides = [1] : {tensor}\n%ys = make_partition_view %y : {view}\n"
            f"%v, %t = load_view_tko weak %xs[%zero] : {view}, tile<i32> -> tile<4xtf32>, token\n"
            f"%s = store_view_tko weak %v, %ys[%zero] : tile<4xtf32>, {view}, tile<i32> -> token\n"
            "return } }"
        )
    arguments = [patterns("tf32", bits), patterns("tf32", [0] * 4)]
    assert found(Measured(way, text, arguments, 1, bits, bits), backend) == bits


@pytest.mark.parametrize("kind", ["pointers", "views"])
@pytest.mark.parametrize("shape", [(4, 4, 4), (16, 32, 16), (64, 64, 64)])
def test_low_bits_of_tf32_do_not_count_in_products(shape: tuple[int, int, int], kind: str) -> None:
    m, n, k = shape
    rng = numpy.random.default_rng(5)
    factors = [rng.integers(0x3F000000, 0x40800000, extents) for extents in ((m, k), (k, n))]
    sums: dict[str, list[int]] = {}
    for name, mask in (("dirty", 0xFFFFFFFF), ("clean", 0xFFFFE000)):
        a, b = (patterns("tf32", [int(bits) & mask for bits in factor.reshape(-1)]) for factor in factors)
        for backend in ("interpreter", "cpu"):
            text = _product_of_pointers(m, n, k) if kind == "pointers" else _product_of_views(m, n, k)
            case = Measured("", text, [a, b, patterns("f32", [0] * m * n)], 2, [0] * m * n, [])
            sums[f"{backend} {name}"] = found(case, backend)
    assert len({tuple(bits) for bits in sums.values()}) == 1


def _product_of_pointers(m: int, n: int, k: int) -> str:
    body = (
        f"%zero = constant <f32: 0.0> : tile<{m}x{n}xf32>\n"
        f"%r = mmaf %a_v, %b_v, %zero : tile<{m}x{k}xtf32>, tile<{k}x{n}xtf32>, tile<{m}x{n}xf32>"
    )
    return _kernel({"a": ("tf32", f"{m}x{k}"), "b": ("tf32", f"{k}x{n}")}, body, ("f32", f"{m}x{n}"))


def _product_of_views(m: int, n: int, k: int) -> str:
    head, types = "", {}
    for name, element, rows, columns in (("a", "tf32", m, k), ("b", "tf32", k, n), ("to", "f32", m, n)):
        tensor = f"tensor_view<{rows}x{columns}x{element}, strides=[{columns},1]>"
        types[name] = view = f"partition_view<tile=({rows}x{columns}), {tensor}>"
        head += (
            f"%{name}_t = make_tensor_view %{name}, shape = [{rows}, {columns}], strides = [{columns}, 1] : {tensor}\n"
        )
        head += f"%{name}_w = make_partition_view %{name}_t : {view}\n"
        if name != "to":
            tile = f"tile<{rows}x{columns}x{element}>"
            head += (
                f"%{name}_v, %{name}_k = load_view_tko weak %{name}_w[%i, %i] : {view}, tile<i32> -> {tile}, token\n"
            )
    return (
        "cuda_tile.module @m { entry @k(%a: tile<ptr<tf32>>, %b: tile<ptr<tf32>>, %to: tile<ptr<f32>>) {\n"
        f"%i = constant <i32: 0> : tile<i32>\n%zero = constant <f32: 0.0> : tile<{m}x{n}xf32>\n{head}"
        f"%r = mmaf %a_v, %b_v, %zero : tile<{m}x{k}xtf32>, tile<{k}x{n}xtf32>, tile<{m}x{n}xf32>\n"
        f"%s = store_view_tko weak %r, %to_w[%i, %i] : tile<{m}x{n}xf32>, {types['to']}, tile<i32> -> token\nreturn }} }}"
    )


# Both engines at the edge of `flush_to_zero`, in every mode.


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("mode", ["nearest_even", "zero", "negative_inf", "positive_inf"])
@pytest.mark.parametrize("name", ["mulf", "divf", "fma"])
def test_results_that_round_up_to_the_smallest_normal_number_are_flushed(name: str, mode: str, backend: str) -> None:
    # Of the smallest normal number: all of it, and what is missing in quarters of the last of 24 bits.
    operands = {
        "mulf": ([0x3F800000 - place for place in range(8)], [0x00800000] * 8),
        "divf": ([0x01000000 - place for place in range(8)], [0x40000000] * 8),
    }[name if name != "fma" else "mulf"]
    lhs = [bits | (0x80000000 if place % 2 else 0) for place, bits in enumerate(operands[0] * 2)]
    lhs = lhs[:8] + [bits ^ 0x80000000 for bits in lhs[8:]]
    rhs = operands[1] * 2
    expected = [flushed_binary("mulf" if name == "fma" else name, a, b, mode) for a, b in zip(lhs, rhs, strict=True)]
    rounding = "" if mode == "nearest_even" else f" rounding<{mode}>"
    third = ", %z" if name == "fma" else ""
    body = (
        f"%z = constant <f32: 0.0> : tile<16xf32>\n%r = {name} %a_v, %b_v{third}{rounding} flush_to_zero : tile<16xf32>"
    )
    text = _kernel({"a": ("f32", "16"), "b": ("f32", "16")}, body, ("f32", "16"))
    arguments = [patterns("f32", lhs), patterns("f32", rhs), patterns("f32", [0] * 16)]
    assert found(Measured(name, text, arguments, 2, expected, expected), backend) == expected
