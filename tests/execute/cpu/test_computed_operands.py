"""K-loops whose operands are converted, transposed, computed or have a batch in front, and loops that add several
products: the bits are those of the interpreter's exact mode."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.execute.cpu.test_k_loops import k_loops
from tests.sampling import one_in

import tileir

pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite")

from tileir.execute.cpu.ir.statements import PackCache

FORMS = ("plain", "turned", "half", "computed", "batched", "turned half")
Tile = tuple[int, int, int]


def operand(
    name: str, form: str, rows: int, columns: int, row: str, column: str, sizes: tuple[str, str]
) -> tuple[str, str]:
    """What makes the view of an operand, and what a turn makes of it: `%<name>`, from a row and a column of tiles."""
    element = "f16" if "half" in form else "f32"
    extents, indices, shape = [sizes[0], sizes[1]], [row, column], [rows, columns]
    if "turned" in form:
        extents, indices, shape = extents[::-1], indices[::-1], shape[::-1]
    strides, kinds = [f"%pitch.{name}", "1"], ["?", "1"]
    if form == "batched":
        extents, indices, shape = ["%batch", *extents], ["%z", *indices], [1, *shape]
        strides, kinds = [f"%far.{name}", *strides], ["?", *kinds]
    tensor = f"tensor_view<{'x'.join(['?'] * len(shape))}x{element}, strides=[{','.join(kinds)}]>"
    view = f"partition_view<tile=({'x'.join(map(str, shape))}), padding_value = zero, {tensor}>"
    made = f"""%t{name} = make_tensor_view %a{name}, shape = [{", ".join(extents)}], strides = [{", ".join(strides)}] : tile<i32> -> {tensor}
      %v{name} = make_partition_view %t{name} : {view}"""
    loaded = f"tile<{'x'.join(map(str, shape))}x{element}>"
    body = f"%{name}.0, %{name}.t = load_view_tko weak %v{name}[{', '.join(indices)}] : {view}, tile<i32> -> {loaded}, token\n"
    wanted, narrow, last = f"tile<{rows}x{columns}xf32>", f"tile<{rows}x{columns}x{element}>", f"%{name}.0"
    if "turned" in form:
        body += f"%{name}.1 = permute {last} [1, 0] : {loaded} -> {narrow}\n"
        last = f"%{name}.1"
    if form == "batched":
        body += f"%{name} = reshape {last} : {loaded} -> {wanted}\n"
    elif "half" in form:
        body += f"%{name} = ftof {last} : {narrow} -> {wanted}\n"
    elif form == "computed":
        body += f"%{name}.c = constant <f32: 0.75> : {wanted}\n%{name} = mulf {last}, %{name}.c : {wanted}\n"
    else:
        body = body.replace(f"{last} =", f"%{name} =") if form == "turned" else body.replace(f"{last},", f"%{name},", 1)
    return made, body


def program(tile: Tile, left: str, right: str, other: str = "") -> str:
    """C += A B over the tiles of k from %first to %last; with an `other` operand C += A B + 2 A E."""
    m, n, k = tile
    operands = [
        operand("x", left, m, k, "%i", "%s", ("%m", "%k")),
        operand("y", right, k, n, "%s", "%j", ("%k", "%n")),
        *([operand("w", other, k, n, "%s", "%j", ("%k", "%n"))] if other else []),
    ]
    made, body = ("\n".join(parts) for parts in zip(*operands, strict=True))
    part, types = f"tile<{m}x{n}xf32>", f"tile<{m}x{k}xf32>, tile<{k}x{n}xf32>, tile<{m}x{n}xf32>"
    view = f"partition_view<tile=(1x{m}x{n}), padding_value = zero, tensor_view<?x?x?xf32, strides=[?,?,1]>>"
    results, starts, kinds, ends = "%sum", "%acc = %start", part, "%r"
    if other:
        body += f"%q = mmaf %x, %w, %acc2 : {types}\n"
        results, starts, kinds, ends = "%sum, %sum2", "%acc = %start, %acc2 = %empty", f"{part}, {part}", "%r, %q"
    forms = {"x": left, "y": right} | ({"w": other} if other else {})
    arrays = ", ".join([f"%a{name}: tile<ptr<{'f16' if 'half' in form else 'f32'}>>" for name, form in forms.items()])
    numbers = ["m", "n", "k", "batch", "first", "last", "pitch.c", "far.c"]
    numbers += [f"{word}.{name}" for name in forms for word in ("pitch", "far")]
    scalars = ", ".join([f"%{name}: tile<i32>" for name in numbers])
    twice = f"%two = addf %sum2, %sum2 : {part}\n%result = addf %sum, %two : {part}" if other else ""
    return f"""cuda_tile.module @m {{ entry @k({arrays}, %c: tile<ptr<f32>>, {scalars}) {{
      %i, %j, %z = get_tile_block_id : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %empty = constant <f32: 0.0> : {part}
      {made}
      %tc = make_tensor_view %c, shape = [%batch, %m, %n], strides = [%far.c, %pitch.c, 1] : tile<i32> -> tensor_view<?x?x?xf32, strides=[?,?,1]>
      %vc = make_partition_view %tc : {view}
      %start.0, %t0 = load_view_tko weak %vc[%z, %i, %j] : {view}, tile<i32> -> tile<1x{m}x{n}xf32>, token
      %start = reshape %start.0 : tile<1x{m}x{n}xf32> -> {part}
      {results} = for %s in (%first to %last, step %one) : tile<i32> iter_values({starts}) -> ({kinds}) {{
        {body}
        %r = mmaf %x, %y, %acc : {types}
        continue {ends} : {kinds}
      }}
      {twice}
      %stored.0 = reshape {"%result" if other else "%sum"} : {part} -> tile<1x{m}x{n}xf32>
      %t9 = store_view_tko weak %stored.0, %vc[%z, %i, %j] : tile<1x{m}x{n}xf32>, {view}, tile<i32> -> token
      return
    }} }}"""


def agrees(
    text: str, forms: list[str], tile: Tile, extents: Tile, first: int, last: int, batch: int = 2, wider: int = 0
) -> None:
    m, n, k = extents
    random = numpy.random.default_rng((m, n, k))
    arrays: list[Any] = []
    strides: list[int] = []
    for number, form in enumerate(forms):
        rows, columns = (m, k) if number == 0 else (k, n)
        if "turned" in form:
            rows, columns = columns, rows
        shape = (batch, rows, columns + wider) if form == "batched" else (rows, columns + wider)
        arrays.append(random.standard_normal(shape).astype("f2" if "half" in form else "f4"))
        strides += [columns + wider, rows * (columns + wider)]
    c = random.standard_normal((batch, m, n)).astype("f4")
    grid = (-(-m // tile[0]), -(-n // tile[1]), batch)
    results = []
    for backend in ("cpu", "interpreter"):
        d = c.copy()
        kernel = tileir.compile(tileir.parse(text), backend=backend, exact=True)
        kernel.launch(grid, (*arrays, d, m, n, k, batch, first, last, n, m * n, *strides))
        results.append(d)
    assert results[0].tobytes() == results[1].tobytes()


PAIRS = [(form, "plain") for form in FORMS] + [("plain", form) for form in FORMS[1:]]
PAIRS += [("turned", "turned"), ("half", "half"), ("batched", "batched"), ("computed", "turned half")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("left", "right"), one_in(2, PAIRS))
def test_every_form_has_the_bits_of_the_interpreter(left: str, right: str) -> None:
    for tile in ((16, 32, 8), (8, 16, 32)):
        text = program(tile, left, right)
        assert len(k_loops(text)) == 1
        agrees(text, [left, right], tile, (32, 64, 64), 0, -(-64 // tile[2]))
        agrees(text, [left, right], tile, (37, 35, 50), 0, -(-50 // tile[2]), wider=3)
        agrees(text, [left, right], tile, (20, 33, 30), 1, 5)


@pytest.mark.parametrize(
    "forms", [("plain", "plain", "plain"), ("turned", "half", "plain"), ("batched", "plain", "turned")]
)
def test_a_loop_of_two_products_is_two_chains(forms: tuple[str, str, str]) -> None:
    tile = (16, 32, 8)
    text = program(tile, *forms)
    assert len(k_loops(text)) == 2
    agrees(text, list(forms), tile, (32, 64, 64), 0, 8)
    agrees(text, list(forms), tile, (37, 35, 50), 0, 7, wider=1)
    agrees(text, list(forms), tile, (16, 32, 16), 2, 2)


def test_a_batch_that_goes_with_the_columns() -> None:
    tile = (16, 32, 8)
    text = program(tile, "plain", "batched").replace("%vy[%z, %s, %j]", "%vy[%j, %s, %j]")
    assert k_loops(text)
    agrees(text, ["plain", "batched"], tile, (32, 96, 40), 0, 5, batch=3)


@pytest.mark.parametrize("moved", ["addi", "subi"])
@pytest.mark.parametrize(("left", "right"), [("batched", "plain"), ("turned", "batched"), ("batched", "batched")])
def test_matrices_that_a_batch_does_not_have_are_zeros(left: str, right: str, moved: str) -> None:
    """The last or the first tile blocks read a matrix behind the end of the batch, or before it."""
    tile = (16, 32, 8)
    text = program(tile, left, right).replace("%one = ", f"%next = {moved} %z, %1 : tile<i32>\n%one = ", 1)
    text = text.replace("%next =", "%1 = constant <i32: 1> : tile<i32>\n%next =", 1)
    for name in "xy":
        text = text.replace(f"%v{name}[%z,", f"%v{name}[%next,")
    assert k_loops(text)
    agrees(text, [left, right], tile, (32, 64, 64), 0, 8)
    agrees(text, [left, right], tile, (37, 35, 50), 0, 7, wider=3)


def test_sums_of_different_kinds_stay_a_loop() -> None:
    """The second sum begins with what the first has so far."""
    tile = (16, 32, 8)
    text = program(tile, "plain", "plain", "plain").replace("%x, %w, %acc2", "%x, %w, %acc")
    assert not k_loops(text)
    agrees(text, ["plain"] * 3, tile, (32, 32, 24), 0, 3)


def test_a_loop_with_a_sum_that_is_no_chain_stays_a_loop() -> None:
    """The second product takes tiles from where C is written."""
    tile = (16, 32, 8)
    text = program(tile, "half", "plain", "plain").replace("make_tensor_view %aw", "make_tensor_view %c")
    assert not k_loops(text)
    random = numpy.random.default_rng(0)
    x, y = random.standard_normal((16, 24)).astype("f2"), random.standard_normal((24, 32)).astype("f4")
    c = random.standard_normal((24, 32)).astype("f4")
    results = []
    for backend in ("cpu", "interpreter"):
        d = c.copy()
        kernel = tileir.compile(tileir.parse(text), backend=backend, exact=True)
        kernel.launch((1, 1, 1), (x, y, y, d, 16, 32, 24, 1, 0, 3, 32, 512, 24, 384, *[32, 768] * 2))
        results.append(d.tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize("left", ["turned", "half"])
def test_more_terms_than_are_taken_at_once(left: str) -> None:
    tile = (8, 16, 16)
    text = program(tile, left, "plain")
    (loop,) = k_loops(text)
    assert isinstance(loop.packed[0], PackCache)
    agrees(text, [left, "plain"], tile, (24, 32, 2100), 0, 132, batch=1)


def test_few_places_for_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows beyond those that are cached share a slot."""
    from tileir.execute.cpu.matmul import recognize

    monkeypatch.setenv("TILEIR_CACHE", "0")
    monkeypatch.setattr(recognize, "cache_slots", lambda size: 2)
    tile = (8, 16, 8)
    for left in ("turned", "computed"):
        agrees(program(tile, left, "turned"), [left, "turned"], tile, (50, 70, 40), 0, 5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("short", [0, 1])
@pytest.mark.parametrize("form", ["turned", "half", "batched"])
def test_what_lies_outside_is_found(form: str, short: int) -> None:
    tile = (16, 32, 8)
    forms = ["plain", "plain"]
    forms[short] = form
    said = []
    for backend in ("cpu", "interpreter"):
        arrays = [numpy.ones((64, 64), "f2" if "half" in each else "f4") for each in forms]
        arrays[short] = arrays[short][:-5].copy()
        kernel = tileir.compile(tileir.parse(program(tile, *forms)), backend=backend, exact=True)
        with pytest.raises(tileir.ExecutionError) as raised:
            kernel.launch(
                (4, 2, 1), (*arrays, numpy.ones((64, 64), "f4"), 64, 64, 64, 1, 0, 8, 64, 4096, *[64, 4096] * 2)
            )
        said.append(str(raised.value).splitlines()[0].split(" at address")[0])
    assert said[0] == said[1]


def test_an_operand_that_the_kernel_writes_is_no_k_loop() -> None:
    """B is C: what is packed of it would not be what it is now."""
    tile = (16, 32, 8)
    for left, right in (("turned", "plain"), ("plain", "turned")):
        text = program(tile, left, right)
        wrong = text.replace("make_tensor_view %ay", "make_tensor_view %c")
        assert not k_loops(wrong)


def test_of_the_mistakes_of_several_sums_the_first_is_found() -> None:
    """The operand of one product is outside in the last turn, that of the one behind it in the first."""
    tile = (16, 32, 8)
    text = program(tile, "plain", "plain", "plain").replace("%x, %w, %acc2", "%u, %w, %acc2")
    made, body = operand("u", "plain", 16, 8, "%i", "%s", ("%m", "%k"))
    text = text.replace("%tc =", f"{made}\n%tc =")
    text = text.replace("%q = mmaf", f"{body}%q = mmaf").replace("@k(", "@k(%au: tile<ptr<f32>>, %pitch.u: tile<i32>, ")
    assert len(k_loops(text)) == 2
    for name in "xu":
        moved = f"%o{name} = offset %a{name}, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>\n%t{name} ="
        text = text.replace(f"%t{name} =", moved).replace(f"make_tensor_view %a{name}", f"make_tensor_view %o{name}")
    ones = numpy.ones((16, 24), "f4")
    right = numpy.ones((24, 32), "f4")
    said = []
    for backend in ("cpu", "interpreter"):
        kernel = tileir.compile(tileir.parse(text), backend=backend, exact=True)
        arrays = [ones[0, :3].copy(), right, right.copy(), numpy.ones((16, 32), "f4")]
        with pytest.raises(tileir.ExecutionError) as raised:
            kernel.launch(
                (1, 1, 1),
                (ones.reshape(-1)[:-1].copy(), 24, *arrays, 16, 32, 24, 1, 0, 3, 32, 512, 24, 384, *[32, 768] * 2),
            )
        said.append(str(raised.value).splitlines()[0].split(" at address")[0])
    assert said[0] == said[1]


@settings(max_examples=8, deadline=None)
@given(
    forms=st.lists(st.sampled_from(FORMS), min_size=2, max_size=3),
    tile=st.tuples(*[st.sampled_from([1, 2, 8, 16, 32])] * 3),
    extents=st.tuples(*[st.integers(1, 70)] * 3),
    first=st.integers(0, 2),
    more=st.integers(0, 2),
)
def test_any_tiles_of_any_forms(forms: list[str], tile: Tile, extents: Tile, first: int, more: int) -> None:
    tile = (max(tile[0], 4), max(tile[1], 4), tile[2])
    agrees(program(tile, *forms), forms, tile, extents, first, -(-extents[2] // tile[2]) + more, batch=1)
