"""Conversions between element types: integer, float and bit patterns."""

import cuda.tile as ct
from tests.kernels.case import SINCE_13_2, SINCE_13_3, SINCE_13_4, KernelCase, array, scalar

INTEGERS = (ct.int8, ct.int16, ct.int32, ct.int64, ct.uint8, ct.uint16, ct.uint32, ct.uint64)
FLOATS = (ct.float16, ct.bfloat16, ct.float32, ct.float64)


@ct.kernel
def through_every_integer(a, out):
    t = ct.load(a, (0,), (64,))
    total = t
    for dtype in ct.static_iter(INTEGERS):
        total = total + t.astype(dtype).astype(t.dtype)
    ct.store(out, (0,), total)


@ct.kernel
def through_every_float(a, out):
    t = ct.load(a, (0,), (64,))
    total = t
    for dtype in ct.static_iter((*FLOATS, ct.tfloat32, ct.float8_e4m3fn, ct.float8_e5m2)):
        total = total + t.astype(dtype).astype(t.dtype)
    ct.store(out, (0,), total)


@ct.kernel
def between_integers_and_floats(a, b, out):
    whole = ct.load(a, (0,), (64,))
    real = ct.load(b, (0,), (64,))
    for dtype in ct.static_iter(FLOATS):
        real = real + whole.astype(dtype).astype(real.dtype)
    for dtype in ct.static_iter(INTEGERS):
        whole = whole + real.astype(dtype).astype(whole.dtype)
    ct.store(out, (0,), whole)


@ct.kernel
def booleans(a, out):
    t = ct.load(a, (0,), (64,))
    flag = t.astype(ct.bool_)
    ct.store(out, (0,), flag.astype(ct.float32) + flag.astype(ct.int8) + flag.astype(ct.int64).astype(ct.float32))


@ct.kernel
def bit_patterns(a, out):
    t = ct.load(a, (0,), (64,))
    bits = ct.bitcast(t, ct.uint32)
    exponent = (bits >> 23) & 0xFF
    halves = ct.bitcast(exponent.astype(ct.uint16), ct.float16)
    ct.store(out, (0,), ct.bitcast(bits ^ 0x80000000, ct.float32) + halves)


@ct.kernel
def rounded_conversions(a, b, out):
    wide = ct.load(a, (0,), (64,))
    narrow = ct.load(b, (0,), (64,))
    t = ct.zeros((64,), ct.float64)
    for dtype in ct.static_iter((ct.float32, ct.tfloat32, ct.float16, ct.bfloat16)):
        t = t + ct.astype(wide, dtype, rounding_mode=ct.RoundingMode.RZ).astype(ct.float32)
    for mode in ct.static_iter((ct.RoundingMode.RN, ct.RoundingMode.RZ, ct.RoundingMode.RM, ct.RoundingMode.RP)):
        t = t + ct.astype(narrow, ct.float32, rounding_mode=mode)
    t = t + ct.astype(narrow, ct.float64, rounding_mode=ct.RoundingMode.RA)
    ct.store(out, (0,), t)


@ct.kernel
def pack_and_unpack(a, out):
    octets = ct.pack_to_bytes(ct.load(a, (0,), (64,)))
    mirrored = ct.unpack_from_bytes(octets, ct.int16)
    ct.store(out, (0,), ct.unpack_from_bytes(ct.pack_to_bytes(mirrored), out.dtype))


@ct.kernel
def scalars(out, a, b, c, d, e, f):
    total = a.astype(ct.float64) + b + c + d
    ct.store(out, (0,), total + e.astype(ct.float64) + f.astype(ct.float64))


@ct.kernel
def arctangent(y, x, out):
    ct.store(out, (0,), ct.atan2(ct.load(y, (0,), (64,)), ct.load(x, (0,), (64,))))


CASES = [
    *(
        KernelCase(f"through_every_integer_{dtype.name}", through_every_integer, (array(dtype), array(dtype)))
        for dtype in (ct.int8, ct.uint16, ct.int32, ct.int64)
    ),
    *(
        KernelCase(f"through_every_float_{dtype.name}", through_every_float, (array(dtype), array(dtype)))
        for dtype in FLOATS
    ),
    *(
        KernelCase(
            f"between_{whole.name}_and_floats",
            between_integers_and_floats,
            (array(whole), array(real), array(whole)),
        )
        for whole, real in ((ct.int32, ct.float32), (ct.uint64, ct.float64))
    ),
    KernelCase("booleans_of_f32", booleans, (array(ct.float32), array(ct.float32))),
    KernelCase("booleans_of_i16", booleans, (array(ct.int16), array(ct.float32))),
    KernelCase("booleans_of_bool", booleans, (array(ct.bool_), array(ct.float32))),
    KernelCase("bit_patterns", bit_patterns, (array(ct.float32), array(ct.float32))),
    KernelCase(
        "rounded_conversions",
        rounded_conversions,
        (array(ct.float64), array(ct.bfloat16), array(ct.float64)),
        SINCE_13_4,
    ),
    KernelCase("pack_and_unpack_f32", pack_and_unpack, (array(ct.float32), array(ct.float32)), SINCE_13_3),
    KernelCase("pack_and_unpack_i64", pack_and_unpack, (array(ct.int64), array(ct.float16)), SINCE_13_3),
    KernelCase(
        "scalars",
        scalars,
        (array(ct.float64), *(scalar(t) for t in (ct.float16, ct.float32, ct.float64, ct.int8, ct.uint32, ct.bool_))),
    ),
    *(
        KernelCase(f"arctangent_{dtype.name}", arctangent, (array(dtype),) * 3, SINCE_13_2)
        for dtype in (ct.float16, ct.float32)
    ),
]
