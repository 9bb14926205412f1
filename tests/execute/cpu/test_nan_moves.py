"""NaNs through operations that are not elementwise (docs/reference/numerics.md): copies keep bits, sums and products are quiet."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.execute.cpu.nan_programs import has_payloads, is_nan, is_signalling, patterns
from tests.execute.cpu.test_nan_bits import MACHINES

import tileir
from tileir.execute.dtypes import bits_dtype, memory_dtype
from tileir.ir import floats
from tileir.ir.types import BF16, F8E5M2, F16, F32, F64, FloatType

RUNS = [
    ("interpreter", None),
    *[
        ("cpu", machine) if machine == "native" else pytest.param(("cpu", machine), marks=pytest.mark.long)
        for machine in MACHINES
    ],
]
COMPUTED = [F16, BF16, F32, F64]


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE", "0")


def kernel(text: str, run: tuple[str, str | None]) -> tileir.Kernel:
    backend, cpu = run
    # The chain of products is what both engines have in common.
    return tileir.compile(tileir.parse(text), backend=backend, cpu=cpu, exact=True)


def pointers(name: str, element: object, count: int) -> str:
    one, many = f"tile<1xptr<{element}>>", f"tile<{count}xptr<{element}>>"
    return f"""%{name}_1 = reshape %{name} : tile<ptr<{element}>> -> {one}
      %{name}_n = broadcast %{name}_1 : {one} -> {many}
      %{name}_i = iota : tile<{count}xi32>
      %{name}_p = offset %{name}_n, %{name}_i : {many}, tile<{count}xi32> -> {many}
      """


def nan_tile(element: FloatType, count: int, turn: int = 0) -> Any:
    """Patterns of every kind, turned by some places."""
    found = numpy.array(patterns(element), bits_dtype(element))
    return numpy.roll(numpy.resize(found, count), turn)


# --- copies ---


def moves(element: FloatType, count: int) -> list[tuple[str, str]]:
    """Ways from a tile %v of `count` elements to %r with the same elements, by name."""
    t, p = f"tile<{count}x{element}>", f"tile<{count}xptr<{element}>>"
    half = count // 2
    body = [
        ("reshape", f"%w = reshape %v : {t} -> tile<2x{half}x{element}>\n%r = reshape %w : tile<2x{half}x{element}> -> {t}"),
        ("permute", f"""%w = reshape %v : {t} -> tile<2x{half}x{element}>
           %q = permute %w [1, 0] : tile<2x{half}x{element}> -> tile<{half}x2x{element}>
           %s = permute %q [1, 0] : tile<{half}x2x{element}> -> tile<2x{half}x{element}>
           %r = reshape %s : tile<2x{half}x{element}> -> {t}"""),
        ("broadcast", f"""%w = reshape %v : {t} -> tile<1x{count}x{element}>
           %q = broadcast %w : tile<1x{count}x{element}> -> tile<4x{count}x{element}>
           %s = extract %q[%three, %zero] : tile<4x{count}x{element}> -> tile<1x{count}x{element}>
           %r = reshape %s : tile<1x{count}x{element}> -> {t}"""),
        ("extract and cat", f"""%l = extract %v[%zero] : {t} -> tile<{half}x{element}>
           %h = extract %v[%one] : {t} -> tile<{half}x{element}>
           %r = cat %l, %h dim = 0 : tile<{half}x{element}>, tile<{half}x{element}> -> {t}"""),
        ("select", f"%m = cmpi less_than %v_i, %three_n, signed : tile<{count}xi32> -> tile<{count}xi1>\n"
           f"%r = select %m, %v, %v : tile<{count}xi1>, {t}"),
        ("for", f"""%r = for %i in (%zero to %three, step %one) : tile<i32> iter_values(%c = %v) -> ({t}) {{
             continue %c : {t} }}"""),
        ("if", f"""%b = cmpi equal %x, %x, signed : tile<i32> -> tile<i1>
           %r = if %b -> ({t}) {{ yield %v : {t} }} else {{ %n = negf %v : {t}
             yield %n : {t} }}""" if element is not F8E5M2 else f"%r = reshape %v : {t} -> {t}"),
        ("loop", f"""%r = loop iter_values(%c = %v) : {t} -> {t} {{
             break %c : {t} }}"""),
        ("masked store and load", f"""%m = cmpi greater_than_or_equal %v_i, %three_n, signed : tile<{count}xi32> -> tile<{count}xi1>
           %k1 = store_ptr_tko weak %out_p, %v, %m : {p}, {t}, tile<{count}xi1> -> token
           %y, %k2 = load_ptr_tko weak %out_p, %m, %v token=%k1 : {p}, tile<{count}xi1>, {t} -> {t}, token
           %r = reshape %y : {t} -> {t}"""),
    ]  # fmt: skip
    if element is not F8E5M2:
        body.append(("twice negf", f"%n = negf %v : {t}\n%r = negf %n : {t}"))
        body.append(("pack", f"%n = pack %v : {t} -> tile<{count * memory_dtype(element).itemsize}xi8>\n"
                     f"%r = unpack %n : tile<{count * memory_dtype(element).itemsize}xi8> -> {t}"))  # fmt: skip
        width = 8 * memory_dtype(element).itemsize
        body.append(("bitcast", f"%n = bitcast %v : {t} -> tile<{count}xi{width}>\n"
                     f"%r = bitcast %n : tile<{count}xi{width}> -> {t}"))  # fmt: skip
    if element in (F32, F64):
        body.append(
            (
                "exchange",
                f"""%o1, %k1 = atomic_rmw_tko relaxed device %out_p, xchg, %v : {p}, {t} -> {t}, token
           %o2, %k2 = atomic_rmw_tko relaxed device %out_p, xchg, %v token=%k1 : {p}, {t} -> {t}, token
           %r = reshape %o2 : {t} -> {t}""",
            )
        )
    return body


@pytest.mark.sampled(2)
@pytest.mark.parametrize("run", RUNS, ids=str)
@pytest.mark.parametrize("element", [F16, BF16, F32, F64, F8E5M2], ids=str)
def test_copies_keep_the_bits_of_a_nan(element: FloatType, run: tuple[str, str | None]) -> None:
    for count in (4, 64) if element is F16 else (64,):
        ways = moves(element, count)
        entries = []
        for number, (_, body) in enumerate(ways):
            t, p = f"tile<{count}x{element}>", f"tile<{count}xptr<{element}>>"
            entries.append(f"""entry @k{number}(%v_: tile<ptr<{element}>>, %out: tile<ptr<{element}>>) {{
              %x, %y_, %z_ = get_tile_block_id : tile<i32>
              %zero = constant <i32: 0> : tile<i32>
              %one = constant <i32: 1> : tile<i32>
              %three = constant <i32: 3> : tile<i32>
              %three_n = constant <i32: 3> : tile<{count}xi32>
              {pointers("v_", element, count)}{pointers("out", element, count)}
              %v_i = iota : tile<{count}xi32>
              %v, %k_ = load_ptr_tko weak %v__p : {p} -> {t}, token
              {body}
              %k_out = store_ptr_tko weak %out_p, %r : {p}, {t} -> token
              return }}""")
        module = tileir.parse(f"cuda_tile.module @m {{ {' '.join(entries)} }}")
        for number, (name, _) in enumerate(ways):
            compiled = tileir.compile(module, entry=f"k{number}", backend=run[0], cpu=run[1])
            for turn in range(0, 16, 5):
                given = nan_tile(element, count, turn)
                found = numpy.zeros_like(given)
                compiled.launch(1, (given.view(memory_dtype(element)), found.view(memory_dtype(element))))
                assert (found == given).all(), f"{name} of {count}"


@pytest.mark.parametrize("run", RUNS, ids=str)
@pytest.mark.parametrize("element", [F16, BF16, F32, F64, F8E5M2], ids=str)
def test_constants_and_globals_keep_the_bits_of_a_nan(element: FloatType, run: tuple[str, str | None]) -> None:
    given = nan_tile(element, 16)
    digits = 2 * memory_dtype(element).itemsize
    words = [f"0x{int(pattern):0{digits}X}" for pattern in given]
    t, p = f"tile<16x{element}>", f"tile<16xptr<{element}>>"
    signalling = f"0x{next(int(x) for x in given if is_signalling(element, numpy.array([x]))[0]):0{digits}X}"
    text = f"""cuda_tile.module @m {{ global @g alignment = 16 <{element}: [{", ".join(words)}]> : {t}
      entry @k(%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>, %c: tile<ptr<{element}>>) {{
      {pointers("a", element, 16)}{pointers("b", element, 16)}{pointers("c", element, 16)}
      %x = constant <{element}: [{", ".join(words)}]> : {t}
      %k1 = store_ptr_tko weak %a_p, %x : {p}, {t} -> token
      %y = constant <{element}: {signalling}> : {t}
      %k2 = store_ptr_tko weak %b_p, %y : {p}, {t} -> token
      %g = get_global @g : tile<ptr<{element}>>
      {pointers("g", element, 16)}
      %z, %k3 = load_ptr_tko weak %g_p : {p} -> {t}, token
      %k4 = store_ptr_tko weak %c_p, %z : {p}, {t} -> token
      return }} }}"""
    found = [numpy.zeros_like(given) for _ in range(3)]
    kernel(text, run).launch(1, [one.view(memory_dtype(element)) for one in found])
    assert (found[0] == given).all() and (found[2] == given).all()
    assert (found[1] == int(signalling, 16)).all()


# --- reductions ---


BODIES = ("maxf %p, %q", "minf %p, %q propagate_nan", "addf %p, %q")
MORE_BODIES = ("minf %p, %q", "maxf %p, %q propagate_nan", "maximumf %p, %q", "maxf %q, %p", "mulf %p, %q")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("run", RUNS, ids=str)
@pytest.mark.parametrize("element", COMPUTED, ids=str)
@pytest.mark.parametrize(
    "operations", [BODIES, pytest.param(MORE_BODIES, marks=pytest.mark.long)], ids=["some", "others"]
)
def test_reductions_follow_their_body(
    operations: tuple[str, ...], element: FloatType, run: tuple[str, str | None]
) -> None:
    """Of extent one an element is copied; else it is as if the body were applied to it."""
    form = floats.FORMATS[element.name]
    bodies = [f"%m = {operation} : tile<{element}>" for operation in operations]
    for rows, columns, axes in ((4, 1, (1,)), (8, 4, (0, 1)), (4, 128, (1,)), (128, 2, (0,))):
        for axis in axes:
            rest = rows if axis else columns
            entries = []
            for number, body in enumerate(bodies):
                source, target = f"tile<{rows}x{columns}x{element}>", f"tile<{rest}x{element}>"
                count = rows * columns
                entries.append(f"""entry @k{number}(%a: tile<ptr<{element}>>, %out: tile<ptr<{element}>>) {{
                  {pointers("a", element, count)}{pointers("out", element, rest)}
                  %x, %k1 = load_ptr_tko weak %a_p : tile<{count}xptr<{element}>> -> tile<{count}x{element}>, token
                  %v = reshape %x : tile<{count}x{element}> -> {source}
                  %r = reduce %v dim={axis} identities=[0.0 : {element}] : {source} -> {target}
                    (%p: tile<{element}>, %q: tile<{element}>) {{ {body}
                    yield %m : tile<{element}> }}
                  %k2 = store_ptr_tko weak %out_p, %r : tile<{rest}xptr<{element}>>, {target} -> token
                  return }}""")
            module = tileir.parse(f"cuda_tile.module @m {{ {' '.join(entries)} }}")
            for number, body in enumerate(bodies):
                compiled = tileir.compile(module, entry=f"k{number}", backend=run[0], cpu=run[1])
                for turn in range(3):
                    given = nan_tile(element, rows * columns, 5 * turn)
                    if turn == 2:
                        # NaN alone.
                        given = numpy.resize(given[is_nan(element, given)], rows * columns)
                    found = numpy.zeros(rest, given.dtype)
                    compiled.launch(1, (given.view(memory_dtype(element)), found.view(memory_dtype(element))))
                    lines = given.reshape(rows, columns) if axis else given.reshape(rows, columns).T
                    told = f"{body} over {rows}x{columns}, dim {axis}: {[hex(x) for x in found]}"
                    if lines.shape[1] == 1:
                        assert (found == lines[:, 0]).all(), told
                        continue
                    assert not is_signalling(element, found).any(), told
                    if "maxf" in body or "minf" in body or "maximumf" in body:
                        nan = is_nan(element, lines)
                        expected = nan.any(1) if "propagate" in body or "maximumf" in body else nan.all(1)
                        assert (is_nan(element, found) == expected).all(), told
                        assert (found[expected] == form.quiet_nan).all(), told


@pytest.mark.sampled(2)
@pytest.mark.parametrize("run", RUNS, ids=str)
@pytest.mark.parametrize("element", COMPUTED, ids=str)
def test_scans_copy_the_first_element_and_compute_the_others(element: FloatType, run: tuple[str, str | None]) -> None:
    for body in ("maxf", "addf"):
        t = f"tile<4x16x{element}>"
        text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<{element}>>, %out: tile<ptr<{element}>>) {{
          {pointers("a", element, 64)}{pointers("out", element, 64)}
          %x, %k1 = load_ptr_tko weak %a_p : tile<64xptr<{element}>> -> tile<64x{element}>, token
          %v = reshape %x : tile<64x{element}> -> {t}
          %r = scan %v dim=1 reverse=false identities=[0.0 : {element}] : {t} -> {t}
            (%p: tile<{element}>, %q: tile<{element}>) {{ %m = {body} %p, %q : tile<{element}>
            yield %m : tile<{element}> }}
          %y = reshape %r : {t} -> tile<64x{element}>
          %k2 = store_ptr_tko weak %out_p, %y : tile<64xptr<{element}>>, tile<64x{element}> -> token
          return }} }}"""
        compiled = kernel(text, run)
        for turn in range(16):
            given = nan_tile(element, 64, turn)
            found = numpy.zeros_like(given)
            compiled.launch(1, (given.view(memory_dtype(element)), found.view(memory_dtype(element))))
            assert (found.reshape(4, 16)[:, 0] == given.reshape(4, 16)[:, 0]).all()
            rest = found.reshape(4, 16)[:, 1:]
            assert not is_signalling(element, rest).any()
            if body == "maxf":
                nan = is_nan(element, rest)
                assert (rest[nan] == floats.FORMATS[element.name].quiet_nan).all()


# --- products and atomics ---


@pytest.mark.sampled(2)
@pytest.mark.parametrize("run", RUNS, ids=str)
@pytest.mark.parametrize(
    ("element", "accumulator"), [(F16, F16), (F16, F32), (BF16, F32), (F32, F32), (F64, F64), (F8E5M2, F16)], ids=str
)
def test_products_are_quiet(element: FloatType, accumulator: FloatType, run: tuple[str, str | None]) -> None:
    m = 8
    a, c = f"tile<{m}x{m}x{element}>", f"tile<{m}x{m}x{accumulator}>"
    text = f"""cuda_tile.module @m {{
      entry @k(%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>, %c: tile<ptr<{accumulator}>>, %out: tile<ptr<{accumulator}>>) {{
      {pointers("a", element, 64)}{pointers("b", element, 64)}{pointers("c", accumulator, 64)}{pointers("out", accumulator, 64)}
      %x, %k1 = load_ptr_tko weak %a_p : tile<64xptr<{element}>> -> tile<64x{element}>, token
      %y, %k2 = load_ptr_tko weak %b_p : tile<64xptr<{element}>> -> tile<64x{element}>, token
      %z, %k3 = load_ptr_tko weak %c_p : tile<64xptr<{accumulator}>> -> tile<64x{accumulator}>, token
      %l = reshape %x : tile<64x{element}> -> {a}
      %h = reshape %y : tile<64x{element}> -> {a}
      %s = reshape %z : tile<64x{accumulator}> -> {c}
      %r = mmaf %l, %h, %s : {a}, {a}, {c}
      %f = reshape %r : {c} -> tile<64x{accumulator}>
      %k4 = store_ptr_tko weak %out_p, %f : tile<64xptr<{accumulator}>>, tile<64x{accumulator}> -> token
      return }} }}"""
    compiled = kernel(text, run)
    ones = numpy.ones(64, memory_dtype(element)).view(bits_dtype(element))
    for left, right, start in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)):
        given = [nan_tile(element, 64, turn) if chosen else ones for turn, chosen in ((0, left), (3, right))]
        sums = nan_tile(accumulator, 64, 5) if start else numpy.zeros(64, bits_dtype(accumulator))
        found = numpy.zeros(64, bits_dtype(accumulator))
        compiled.launch(
            1, (*[one.view(memory_dtype(element)) for one in given],
            sums.view(memory_dtype(accumulator)), found.view(memory_dtype(accumulator))),
        )  # fmt: skip
        assert is_nan(accumulator, found).any()
        assert not is_signalling(accumulator, found).any()


@pytest.mark.parametrize("run", RUNS, ids=str)
@pytest.mark.parametrize("element", COMPUTED, ids=str)
def test_atomic_sums_are_quiet_and_give_back_the_bits_they_found(
    element: FloatType, run: tuple[str, str | None]
) -> None:
    assert has_payloads(element)
    t, p = f"tile<16x{element}>", f"tile<16xptr<{element}>>"
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>, %out: tile<ptr<{element}>>) {{
      {pointers("a", element, 16)}{pointers("b", element, 16)}{pointers("out", element, 16)}
      %x, %k1 = load_ptr_tko weak %b_p : {p} -> {t}, token
      %old, %k2 = atomic_rmw_tko relaxed device %a_p, addf, %x : {p}, {t} -> {t}, token
      %k3 = store_ptr_tko weak %out_p, %old : {p}, {t} -> token
      return }} }}"""
    compiled = kernel(text, run)
    for turn in range(16):
        memory, given = nan_tile(element, 16), nan_tile(element, 16, turn)
        before, old = memory.copy(), numpy.zeros_like(memory)
        compiled.launch(1, [one.view(memory_dtype(element)) for one in (memory, given, old)])
        assert (old == before).all()
        assert not is_signalling(element, memory).any()
        assert (is_nan(element, memory) >= (is_nan(element, before) | is_nan(element, given))).all()
