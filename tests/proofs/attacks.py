"""Small programs that are wrong in ways that a proof may overlook: each breaks the question that it is about.

A launch shows it; `assume` and `grid` are all that a proof is told.  Bodies are written in a short form: `store p, %i`
stores 1 at `p + %i`, `load p, %i -> %v` reads from there, both with an optional mask and token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

POINTERS = "pqrs"

_STORE = re.compile(r"^ *store (\w+), %(\w+)(?:, mask %(\w+))?(?:, after %(\w+))?(?: -> %(\w+))?$")
_LOAD = re.compile(r"^ *load (\w+), %(\w+)(?:, mask %(\w+))?(?:, after %(\w+))? -> %(\w+)(?:, %(\w+))?$")


@dataclass(frozen=True)
class Attack:
    name: str
    question: str
    parameters: str
    """Names: `p` to `s` are pointers to i32, all others i32."""
    body: str
    grid: tuple[str, ...]
    launch: tuple[tuple[int, ...], tuple[int | list[int], ...]]
    """A grid and arguments that show what is wrong: of a pointer the elements of its array, or how many zeros."""
    assume: tuple[str, ...] = ()
    before: str = ""
    """What stands before the entry in the module."""
    unless: str = ""
    """What a contract may say so that the launch is none of those that a proof is about."""

    @property
    def text(self) -> str:
        types = {True: "tile<ptr<i32>>", False: "tile<i32>"}
        given = [f"%{name}: {types[name in POINTERS]}" for name in self.parameters.split()]
        lines = [line for number, line in enumerate(self.body.splitlines()) for line in _lines(line, number)]
        head = [
            f"cuda_tile.module @kernels {{ {self.before}",
            f"  entry @attack({', '.join(given)}) {{",
            "    %x, %y, %z = get_tile_block_id : tile<i32>",
            "    %gx, %gy, %gz = get_num_tile_blocks : tile<i32>",
            *[f"    %c{value} = constant <i32: {value}> : tile<i32>" for value in range(9)],
        ]
        return "\n".join([*head, *lines, "    return", "  }", "}", ""])


def _lines(line: str, number: int) -> list[str]:
    """A line of a body in the words of the dialect; without a mask addresses are scalars, else tiles of 8."""
    if found := _STORE.match(line):
        pointer, index, mask, after, token = found.groups()
        type = "tile<8xptr<i32>>" if mask else "tile<ptr<i32>>"
        given = f", %{mask}" if mask else ""
        masks = ", tile<8xi1>" if mask else ""
        value = f"tile<{'8x' if mask else ''}i32>"
        rest = f"{' token=%' + after if after else ''} : {type}, {value}{masks} -> token"
        return [
            *_address(pointer, index, number, bool(mask)),
            f"    %one{number} = constant <i32: 1> : {value}",
            f"    %{token or f'stored{number}'} = store_ptr_tko weak %at{number}, %one{number}{given}{rest}",
        ]
    if found := _LOAD.match(line):
        pointer, index, mask, after, value, token = found.groups()
        type = "tile<8xptr<i32>>" if mask else "tile<ptr<i32>>"
        element = f"tile<{'8x' if mask else ''}i32>"
        given, masks = (f", %{mask}, %pad{number}", f", tile<8xi1>, {element}") if mask else ("", "")
        rest = f"{' token=%' + after if after else ''} : {type}{masks} -> {element}, token"
        pad = [f"    %pad{number} = constant <i32: 0> : {element}"] if mask else []
        result = f"%{value}, %{token or f'loaded{number}'}"
        return [
            *_address(pointer, index, number, bool(mask)),
            *pad,
            f"    {result} = load_ptr_tko weak %at{number}{given}{rest}",
        ]
    return [line]


def _address(pointer: str, index: str, number: int, is_tile: bool) -> list[str]:
    if not is_tile:
        return [f"    %at{number} = offset %{pointer}, %{index} : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>"]
    return [
        f"    %p1_{number} = reshape %{pointer} : tile<ptr<i32>> -> tile<1xptr<i32>>",
        f"    %ps_{number} = broadcast %p1_{number} : tile<1xptr<i32>> -> tile<8xptr<i32>>",
        f"    %at{number} = offset %ps_{number}, %{index} : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>",
    ]


def _view(
    pointer: str, name: str, shape: str, strides: str, tile: str, kind: str = "partition_view", more: str = ""
) -> str:
    types = f"tensor_view<?xi32, strides=[{'?' if strides[0] == '%' else strides}]>"
    return (
        f"    %{name}_tensor = make_tensor_view %{pointer}, shape = [{shape}], strides = [{strides}] : tile<i32> -> {types}\n"
        f"    %{name} = make_{kind} %{name}_tensor : {kind}<tile=({tile}){more}, {types}>\n"
    )


def _store_view(
    name: str, index: str, strides: str, tile: str, kind: str = "partition_view", more: str = "", promise: str = ""
) -> str:
    types = f"tensor_view<?xi32, strides=[{strides}]>"
    return (
        f"    %{name}_ones = constant <i32: 1> : tile<{tile}xi32>\n"
        f"    %{name}_token = store_view_tko weak %{name}_ones, %{name}[{index}]{promise} : tile<{tile}xi32>, "
        f"{kind}<tile=({tile}){more}, {types}>, tile<i32> -> token\n"
    )


_ROWS = "tensor_view<?x?xi32, strides=[?,?]>"


def _rows(name: str, shape: str, strides: str) -> str:
    """A view of rows of `p` in tiles of 1 x 4."""
    return (
        f"    %{name}_tensor = make_tensor_view %p, shape = [{shape}], strides = [{strides}] : tile<i32> -> {_ROWS}\n"
        f"    %{name} = make_partition_view %{name}_tensor : partition_view<tile=(1x4), {_ROWS}>\n"
    )


def _load_rows(name: str, index: str) -> str:
    return (
        f"    %{name}_tile, %{name}_loaded = load_view_tko weak %{name}[{index}] : "
        f"partition_view<tile=(1x4), {_ROWS}>, tile<i32> -> tile<1x4xi32>, token\n"
    )


def _store_rows(name: str, index: str) -> str:
    return (
        f"    %{name}_ones = constant <i32: 1> : tile<1x4xi32>\n"
        f"    %{name}_token = store_view_tko weak %{name}_ones, %{name}[{index}] : tile<1x4xi32>, "
        f"partition_view<tile=(1x4), {_ROWS}>, tile<i32> -> token\n"
    )


def _lanes(base: str = "x", size: int = 8) -> str:
    """%index = 8 * base + lane, and %limit, the parameter n, as tiles."""
    return (
        f"    %size = constant <i32: {size}> : tile<i32>\n"
        f"    %first = muli %{base}, %size : tile<i32>\n"
        "    %first_1 = reshape %first : tile<i32> -> tile<1xi32>\n"
        "    %firsts = broadcast %first_1 : tile<1xi32> -> tile<8xi32>\n"
        "    %lane = iota : tile<8xi32>\n"
        "    %index = addi %firsts, %lane : tile<8xi32>\n"
        "    %n_1 = reshape %n : tile<i32> -> tile<1xi32>\n"
        "    %limit = broadcast %n_1 : tile<1xi32> -> tile<8xi32>\n"
        "    %mask = cmpi less_than %index, %limit, signed : tile<8xi32> -> tile<8xi1>\n"
    )


_FREE = ("grid.x",)  # A grid of any size.

ATTACKS = (
    # Loops.
    Attack("a carried value where an iteration is left early", "bounds", "p n",
        """    %end = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%a = %c0) -> (tile<i32>) {
      %is_3 = cmpi equal %i, %c3, signed : tile<i32> -> tile<i1>
      if %is_3 {
        continue %n : tile<i32>
      }
      %b = addi %a, %c1 : tile<i32>
      store p, %a
      continue %b : tile<i32>
    }""", ("1",), ((1,), (6, 6)), ("p.size == n",)),
    Attack("iterations that leave before the store", "coverage", "p n",
        """    for %i in (%c0 to %n, step %c1) : tile<i32> {
      %is_3 = cmpi equal %i, %c3, signed : tile<i32> -> tile<i1>
      if %is_3 {
        continue
      }
      store p, %i
      continue
    }""", ("1",), ((1,), (6, 6)), ("p.size == n",)),
    Attack("a loop that is left early", "coverage", "p n",
        """    loop iter_values(%i = %c0) : tile<i32> {
      %at_end = cmpi greater_than_or_equal %i, %n, signed : tile<i32> -> tile<i1>
      %is_3 = cmpi equal %i, %c3, signed : tile<i32> -> tile<i1>
      %done = ori %at_end, %is_3 : tile<i1>
      if %done {
        break
      }
      store p, %i
      %next = addi %i, %c1 : tile<i32>
      continue %next : tile<i32>
    }""", ("1",), ((1,), (6, 6)), ("p.size == n",)),
    Attack("a bound that is read as unsigned", "bounds", "p n",
        """    for unsigned %i in (%c0 to %n, step %c1) : tile<i32> {
      %small = mini %i, %c8 unsigned : tile<i32>
      store p, %small
      continue
    }""", ("1",), ((1,), (4, 9)), ("p.size >= 4", "n < 4 or n == 9")),
    Attack("a loop from below zero", "bounds", "p n",
        """    %low = subi %c0, %c1 : tile<i32>
    for %i in (%low to %n, step %c1) : tile<i32> {
      store p, %i
      continue
    }""", ("1",), ((1,), (4, 4))),
    Attack("a loop that skips its end", "termination", "p n",
        """    loop iter_values(%i = %c0) : tile<i32> {
      %done = cmpi equal %i, %n, signed : tile<i32> -> tile<i1>
      if %done {
        break
      }
      %next = addi %i, %c2 : tile<i32>
      continue %next : tile<i32>
    }
    store p, %c0""", ("1",), ((), ())),
    Attack("a step of zero", "termination", "p n k",
        """    for %i in (%c0 to %n, step %k) : tile<i32> {
      store p, %c0
      continue
    }""", ("1",), ((1,), (1, 3, 0))),
    Attack("an inner loop that may be empty", "bounds", "p n m",
        """    %end = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%a = %c0) -> (tile<i32>) {
      %inner = for %j in (%i to %m, step %c1) : tile<i32> iter_values(%b = %a) -> (tile<i32>) {
        %more = addi %b, %c1 : tile<i32>
        continue %more : tile<i32>
      }
      continue %inner : tile<i32>
    }
    store p, %end""", ("1",), ((1,), (3, 2, 4)), ("p.size == n * (m - n) + 2 or p.size == 3", "n > 0", "m > 0")),
    Attack("a pointer that walks", "bounds", "p n",
        """    %last = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%at = %p) -> (tile<ptr<i32>>) {
      %next = offset %at, %c1 : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %t = store_ptr_tko weak %next, %i : tile<ptr<i32>>, tile<i32> -> token
      continue %next : tile<ptr<i32>>
    }""", ("1",), ((1,), (5, 5)), ("p.size == n",)),
    Attack("an assertion in a loop", "asserts", "p n",
        """    for %i in (%c0 to %n, step %c1) : tile<i32> {
      %small = cmpi less_than %i, %c5, signed : tile<i32> -> tile<i1>
      assert %small, "small" : tile<i1>
      continue
    }""", ("1",), ((1,), (1, 6))),
    Attack("a store in the next iteration without a token", "tokens", "p n",
        """    for %i in (%c0 to %n, step %c1) : tile<i32> {
      %next = addi %i, %c1 : tile<i32>
      load p, %i -> %v
      store p, %next
      continue
    }""", ("1",), ((1,), (5, 4)), ("p.size > n",)),
    Attack("a value carried from the iteration before", "bounds", "p n",
        """    for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%before = %c0) -> (tile<i32>) {
      store p, %before
      %twice = muli %i, %c2 : tile<i32>
      continue %twice : tile<i32>
    }""", ("1",), ((1,), (4, 4)), ("p.size == n",)),
    # Integers.
    Attack("a product that wraps", "bounds", "p n",
        _lanes(size=1 << 30) + "    store p, %index, mask %mask", ("3",), ((3,), (8, 8)), ("p.size == n",)),
    Attack("an index in 8 bits", "race", "p",
        """    %narrow = trunci %x : tile<i32> -> tile<i8>
    %i = exti %narrow unsigned : tile<i8> -> tile<i32>
    store p, %i""", _FREE, ((257,), (256,)), ("p.size >= 256",)),
    Attack("a negative number that is extended as unsigned", "bounds", "p n",
        """    %minus = subi %c0, %c1 : tile<i32>
    %narrow = trunci %minus : tile<i32> -> tile<i8>
    %i = exti %narrow unsigned : tile<i8> -> tile<i32>
    store p, %i""", ("1",), ((1,), (8, 8)), ("p.size == n",)),
    Attack("a mask without a lower bound", "bounds", "p n",
        _lanes() + """    %five = constant <i32: 5> : tile<8xi32>
    %left = subi %index, %five : tile<8xi32>
    store p, %left, mask %mask""", ("cdiv(n, 8)",), ((1,), (8, 8)), ("p.size == n",)),
    Attack("a division by a parameter", "division", "p n m",
        "    %i = divi %n, %m signed : tile<i32>\n    store p, %c0", ("1",), ((1,), (1, 5, 0))),
    Attack("a remainder by a difference", "division", "p n m",
        """    %d = subi %n, %m : tile<i32>
    %i = remi %n, %d signed : tile<i32>
    store p, %c0""", ("1",), ((1,), (1, 5, 5)), ("n > 0", "m > 0")),
    Attack("a quotient of negative numbers", "bounds", "p n",
        """    %minus = subi %x, %c1 : tile<i32>
    %i = divi %minus, %c2 signed rounding<negative_inf> : tile<i32>
    store p, %i""", ("n",), ((2,), (2, 2)), ("p.size == n",)),
    Attack("a remainder of negative numbers", "bounds", "p n",
        """    %minus = subi %x, %c1 : tile<i32>
    %i = remi %minus, %c4 signed : tile<i32>
    store p, %i""", ("n",), ((2,), (4, 4)), ("p.size >= 4",)),
    Attack("an exclusive or of an index", "bounds", "p n",
        "    %i = xori %x, %c1 : tile<i32>\n    store p, %i", ("n",), ((3,), (3, 3)), ("p.size == n",)),
    Attack("a shift of an index", "bounds", "p n",
        "    %i = shli %x, %c1 : tile<i32>\n    store p, %i", ("n",), ((2,), (2, 2)), ("p.size == n",)),
    # Tile blocks.
    Attack("another axis of the grid", "race", "p", "    store p, %x", ("grid.x", "grid.y"), ((2, 2), (2,))),
    Attack("a sum of block ids", "race", "p n", "    %i = addi %x, %y : tile<i32>\n    store p, %i", ("grid.x", "grid.y"), ((2, 2), (4, 4))),
    Attack("an index with the wrong width", "race", "p n",
        "    %row = muli %y, %gy : tile<i32>\n    %i = addi %row, %x : tile<i32>\n    store p, %i", ("grid.x", "grid.y"), ((4, 2), (8, 8))),
    Attack("the stride of another axis", "race", "p n",
        """    for %i in (%x to %n, step %gy) : tile<i32> {
      store p, %i
      continue
    }""", ("grid.x", "grid.y"), ((3, 1), (8, 8)), ("p.size == n",)),
    Attack("blocks that are clamped to the last element", "race", "p n",
        "    %last = subi %n, %c1 : tile<i32>\n    %i = mini %x, %last signed : tile<i32>\n    store p, %i", _FREE, ((3,), (2, 2)), ("p.size == n",)),
    Attack("blocks that share an element by remainder", "race", "p", "    %i = remi %x, %c4 signed : tile<i32>\n    store p, %i", _FREE, ((5,), (4,))),
    Attack("multiples that meet", "race", "p n",
        "    %a = muli %x, %c2 : tile<i32>\n    %b = muli %x, %c3 : tile<i32>\n    store p, %a -> %t\n    store p, %b, after %t", ("n",), ((4,), (12, 4)), ("p.size >= 3 * n",)),
    Attack("one block reads what another writes", "race", "p n",
        "    %i = addi %x, %c1 : tile<i32>\n    load p, %i -> %v, %t\n    store p, %x, after %t", ("n",), ((3,), (4, 3)), ("p.size > n",)),
    Attack("a store beside atomics", "race", "p n",
        """    %i = divi %x, %c2 signed : tile<i32>
    %at = offset %p, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %old, %t = atomic_rmw_tko relaxed device %at, add, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %odd = remi %x, %c2 signed : tile<i32>
    %is_odd = cmpi equal %odd, %c1, signed : tile<i32> -> tile<i1>
    if %is_odd {
      store p, %i, after %t
    }""", ("n",), ((2,), (1, 2)), ("p.size >= n",)),
    Attack("a global that all tile blocks write", "race", "p",
        """    %g = get_global @shared : tile<ptr<i32>>
    %t = store_ptr_tko weak %g, %x : tile<ptr<i32>>, tile<i32> -> token
    store p, %x""", _FREE, ((2,), (2,)), before="global @shared <i32: [0, 0]> : tile<2xi32>"),
    Attack("a guard that two blocks pass", "race", "p n",
        """    %low = cmpi less_than %x, %c2, signed : tile<i32> -> tile<i1>
    if %low {
      store p, %c0
    }""", _FREE, ((2,), (1, 1))),
    # Order within a tile block.
    Attack("from both ends", "tokens", "p n",
        """    %last = subi %n, %c1 : tile<i32>
    %i = subi %last, %x : tile<i32>
    store p, %x
    store p, %i""", ("1",), ((1,), (1, 1)), ("p.size == n", "n > 0")),
    Attack("a token of another load", "tokens", "p q n",
        "    load q, %x -> %u, %t\n    load p, %x -> %v\n    store p, %x, after %t", ("n",), ((1,), (1, 1, 1))),
    Attack("tokens of one branch", "tokens", "p n",
        """    %start = make_token : token
    %big = cmpi greater_than %n, %c3, signed : tile<i32> -> tile<i1>
    %t = if %big -> (token) {
      store p, %x -> %u
      yield %u : token
    } else {
      store p, %x -> %u
      yield %start : token
    }
    store p, %x, after %t""", ("1",), ((1,), (1, 1))),
    Attack("a token that a loop does not carry", "tokens", "p n",
        """    for %i in (%c0 to %n, step %c1) : tile<i32> {
      load p, %c0 -> %v, %t
      store p, %c0, after %t
      continue
    }""", ("1",), ((1,), (1, 2))),
    # What is loaded.
    Attack("two values of the same name", "bounds", "p q r n",
        """    %yes = cmpi less_than %c0, %n, signed : tile<i32> -> tile<i1>
    %a = if %yes -> (tile<i32>) {
      %old, %t = atomic_rmw_tko relaxed device %q, add, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
      yield %old : tile<i32>
    } else {
      yield %c0 : tile<i32>
    }
    %b = if %yes -> (tile<i32>) {
      %old, %t = atomic_rmw_tko relaxed device %r, add, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
      yield %old : tile<i32>
    } else {
      yield %c0 : tile<i32>
    }
    %i = subi %a, %b : tile<i32>
    store p, %i""", ("1",), ((1,), (1, [5], [2], 1)), ("p.size >= 1", "n > 0")),
    Attack("memory that has changed since", "bounds", "p q n",
        """    load q, %c0 -> %a, %t
    store q, %c0, after %t -> %u
    load q, %c0, after %u -> %b
    %i = subi %a, %b : tile<i32>
    store p, %i""", ("1",), ((1,), (1, [7], 1)), ("p.size >= 1",)),
    Attack("memory that atomics change", "bounds", "p q n",
        """    %a, %t = atomic_rmw_tko relaxed device %q, add, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %b, %u = atomic_rmw_tko relaxed device %q, add, %c1 token=%t : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %i = subi %b, %a : tile<i32>
    store p, %i""", ("1",), ((1,), (1, [7], 1)), ("p.size >= 1",)),
    Attack("a scatter by what is loaded", "race", "p q n",
        "    load q, %x -> %i\n    store p, %i", ("n",), ((2,), (4, [3, 3], 2)), ("0 <= q[*] < p.size",)),
    Attack("an index that a loop has loaded", "bounds", "p q n",
        """    %i = for %k in (%c0 to %n, step %c1) : tile<i32> iter_values(%a = %c0) -> (tile<i32>) {
      load q, %k -> %v
      continue %v : tile<i32>
    }
    store p, %i""", ("1",), ((1,), (1, [1, 1], 2)), ("p.size == 1", "q.size == n")),
    # Views.
    Attack("tiles of a strided view that overlap", "race", "p n",
        _view("p", "v", "%n", "1", "8", "strided_view", ", traversal_strides=[4]") + _store_view("v", "%x", "1", "8", "strided_view", ", traversal_strides=[4]"),
        ("cdiv(n, 4)",), ((3,), (12, 12)), ("p.size == n",)),
    Attack("tiles of a strided view with gaps", "coverage", "p n",
        _view("p", "v", "%n", "1", "4", "strided_view", ", traversal_strides=[8]") + _store_view("v", "%x", "1", "4", "strided_view", ", traversal_strides=[8]"),
        ("cdiv(n, 8)",), ((2,), (12, 12)), ("p.size == n",)),
    Attack("two views of one array", "race", "p n",
        "    %half = offset %p, %c4 : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>\n"
        + _view("p", "v", "%n", "1", "4") + _view("half", "w", "%n", "1", "4")
        + _store_view("v", "%x", "1", "4") + _store_view("w", "%x", "1", "4"),
        ("cdiv(n, 4)",), ((2,), (12, 8)), ("p.size >= n + 4",)),
    Attack("a view with a stride of a parameter", "race", "p n k",
        _view("p", "v", "%n", "%k", "4") + _store_view("v", "%x", "?", "4"),
        ("cdiv(n, 4)",), ((2,), (8, 8, 0)), ("k >= 0",), unless="do not overlap"),
    Attack("a stride below zero", "bounds", "p n k",
        _view("p", "v", "%n", "%k", "4") + _store_view("v", "%x", "?", "4"),
        ("cdiv(n, 4)",), ((1,), (4, 4, -1)), ("p.size == n", "k == 1 or k == 0 - 1"), unless="k >= 0"),
    Attack("an index of a view past its tiles", "bounds", "p n",
        _view("p", "v", "%n", "1", "4") + "    %next = addi %x, %c1 : tile<i32>\n" + _store_view("v", "%next", "1", "4"),
        ("cdiv(n, 4)",), ((2,), (8, 8)), ("p.size == n",)),
    Attack("an index of a view below zero", "bounds", "p n",
        _view("p", "v", "%n", "1", "4") + "    %last = subi %x, %c1 : tile<i32>\n" + _store_view("v", "%last", "1", "4"),
        ("cdiv(n, 4)",), ((2,), (8, 8)), ("p.size == n",)),
    Attack("a view larger than its array", "bounds", "p n m",
        _view("p", "v", "%m", "1", "4") + _store_view("v", "%x", "1", "4"),
        ("cdiv(m, 4)",), ((2,), (6, 6, 8)), ("p.size == n",)),
    Attack("a promise to stay inside", "bounds", "p n",
        _view("p", "v", "%n", "1", "4") + _store_view("v", "%x", "1", "4", promise=" inbounds = [true]"),
        ("cdiv(n, 4)",), ((2,), (6, 6)), ("p.size == n",)),
    # Masks, branches, lanes.
    Attack("a mask of either condition", "bounds", "p n",
        _lanes() + """    %three = constant <i32: 3> : tile<8xi32>
    %low = cmpi less_than %lane, %three, signed : tile<8xi32> -> tile<8xi1>
    %either = ori %mask, %low : tile<8xi1>
    store p, %index, mask %either""", ("cdiv(n, 8)",), ((1,), (2, 2)), ("p.size == n",)),
    Attack("lanes that meet", "coverage", "p n",
        _lanes() + """    %two = constant <i32: 2> : tile<8xi32>
    %half = divi %index, %two signed : tile<8xi32>
    store p, %half, mask %mask""", ("cdiv(n, 8)",), ((1,), (4, 8)), ("n % 8 == 0", "2 * p.size == n")),
    Attack("a branch that is not always taken", "coverage", "p n",
        """    %last = subi %n, %c1 : tile<i32>
    %inner = cmpi less_than %x, %last, signed : tile<i32> -> tile<i1>
    if %inner {
      store p, %x
    }""", ("n",), ((3,), (3, 3)), ("p.size == n",)),
    Attack("a return before the store", "coverage", "p n",
        """    %first = cmpi equal %x, %c0, signed : tile<i32> -> tile<i1>
    if %first {
      return
    }
    store p, %x""", ("n",), ((3,), (3, 3)), ("p.size == n",)),
    Attack("a branch that chooses an index", "bounds", "p n",
        """    %first = cmpi equal %x, %c0, signed : tile<i32> -> tile<i1>
    %next = addi %x, %c1 : tile<i32>
    %i = if %first -> (tile<i32>) {
      yield %x : tile<i32>
    } else {
      yield %next : tile<i32>
    }
    store p, %i""", ("n",), ((3,), (3, 3)), ("p.size == n",)),
    Attack("one of two arrays", "bounds", "p q n",
        """    %first = cmpi equal %x, %c0, signed : tile<i32> -> tile<i1>
    %at = select %first, %p, %q : tile<i1>, tile<ptr<i32>>
    %i = offset %at, %c3 : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %i, %x : tile<ptr<i32>>, tile<i32> -> token""", ("2",), ((2,), (4, 2, 2)), ("p.size >= 4", "q.size >= 2")),
    Attack("memory of a block that is too small", "bounds", "p",
        """    %own = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>
    %at = offset %own, %c4 : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %at, %x : tile<ptr<i32>>, tile<i32> -> token
    store p, %x""", _FREE, ((1,), (1,))),
    Attack("elements of another size", "bounds", "p n",
        """    %wide = ptr_to_ptr %p : tile<ptr<i32>> -> tile<ptr<i64>>
    %at = offset %wide, %x : tile<ptr<i64>>, tile<i32> -> tile<ptr<i64>>
    %value = constant <i64: 1> : tile<i64>
    %t = store_ptr_tko weak %at, %value : tile<ptr<i64>>, tile<i64> -> token""", ("n",), ((2,), (2, 2)), ("p.size == n",)),
    Attack("an assumption about a block", "asserts", "p n",
        "    %small = assume bounded<0, 2>, %x : tile<i32>\n    store p, %small", ("n",), ((4,), (4, 4)), ("p.size == n",)),
    Attack("an array that may have no elements", "bounds", "p n",
        "    store p, %c0", ("1",), ((1,), (0, 0)), ("p.size == n", "n >= 0"), unless="at least one element"),
    # Names, promises and memory that are taken for others.
    Attack("a parameter with the name of a loop's counter", "bounds", "p n t12",
        """    for %i in (%c0 to %n, step %c1) : tile<i32> {
      store p, %t12
      continue
    }""", ("1",), ((1,), (2, 2, 5)), ("p.size == n",)),
    Attack("a global with the name of a parameter", "bounds", "p n",
        """    %g = get_global @p : tile<ptr<i32>>
    %at = offset %g, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %v, %t = load_ptr_tko weak %at : tile<ptr<i32>> -> tile<i32>, token
    store p, %x""", ("n",), ((3,), (3, 3)), ("p.size == n",), before="global @p <i32: [0, 0]> : tile<2xi32>"),
    Attack("an assumption in a branch", "bounds", "p n m",
        """    %small = cmpi less_than %m, %c4, signed : tile<i32> -> tile<i1>
    if %small {
      %a = assume bounded<0, 3>, %m : tile<i32>
      store p, %a
    } else {
      store p, %m
    }""", ("1",), ((1,), (4, 4, 7)), ("p.size == 4", "m >= 0")),
    Attack("one array read in two widths", "bounds", "p q n",
        """    %half = ptr_to_ptr %q : tile<ptr<i32>> -> tile<ptr<i8>>
    %low, %t = load_ptr_tko weak %half : tile<ptr<i8>> -> tile<i8>, token
    load q, %c0 -> %v
    %big = exti %low signed : tile<i8> -> tile<i32>
    %a = subi %v, %big : tile<i32>
    store p, %a""", ("1",), ((1,), (1, [512], 1)), ("p.size >= 1", "q.size >= 1")),
    Attack("memory that half of a store changes", "bounds", "p q r n",
        """    load q, %c0 -> %a, %t
    %p_1 = reshape %r : tile<ptr<i32>> -> tile<1xptr<i32>>
    %q_1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
    %both = cat %p_1, %q_1 dim = 0 : tile<1xptr<i32>>, tile<1xptr<i32>> -> tile<2xptr<i32>>
    %twos = constant <i32: 2> : tile<2xi32>
    %u = store_ptr_tko weak %both, %twos token=%t : tile<2xptr<i32>>, tile<2xi32> -> token
    load q, %c0, after %u -> %b
    %i = subi %b, %a : tile<i32>
    store p, %i""", ("1",), ((1,), (1, 1, 1, 1)), ("p.size >= 1", "q.size >= 1", "r.size >= 1")),
    Attack("a pointer from memory", "bounds", "p q n",
        """    %where = ptr_to_int %p : tile<ptr<i32>> -> tile<i64>
    %four = constant <i64: 4> : tile<i64>
    %after = addi %where, %four : tile<i64>
    %at = int_to_ptr %after : tile<i64> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %at, %x : tile<ptr<i32>>, tile<i32> -> token""", ("1",), ((1,), (1, 1, 1)), ("p.size == 1",)),
    Attack("an empty array beside a full one", "bounds", "p q n m",
        "    store p, %c0 -> %t\n    store q, %m", ("1",), ((1,), (1, 4, 4, 4)), ("q.size == n", "m == n")),
    Attack("an unsigned remainder of a negative number", "bounds", "p n",
        """    %minus = subi %x, %c1 : tile<i32>
    %i = remi %minus, %c2 unsigned : tile<i32>
    %j = addi %i, %i : tile<i32>
    store p, %j""", ("n",), ((2,), (2, 2)), ("p.size == 2",)),
    Attack("a comparison that reads as unsigned", "bounds", "p n m",
        """    %low = cmpi less_than %m, %n, signed : tile<i32> -> tile<i1>
    if %low {
      %inside = maxi %m, %c0 unsigned : tile<i32>
      store p, %inside
    }""", ("1",), ((1,), (4, 4, -1)), ("p.size == n",)),
    Attack("the largest number and one", "bounds", "p n m",
        """    %next = addi %m, %c1 : tile<i32>
    %inside = cmpi less_than_or_equal %next, %n, signed : tile<i32> -> tile<i1>
    if %inside {
      store p, %m
    }""", ("1",), ((1,), (4, 4, 2147483647)), ("p.size == n", "m >= 0"), unless="an integer may wrap"),
    Attack("the absolute value of the smallest number", "bounds", "p n m",
        """    %size = absi %m : tile<i32>
    %below = cmpi less_than %size, %n, signed : tile<i32> -> tile<i1>
    if %below {
      store p, %size
    }""", ("1",), ((1,), (4, 4, -2147483648)), ("p.size == n",)),
    Attack("a while loop past the end", "bounds", "p n",
        """    loop iter_values(%i = %c0) : tile<i32> {
      store p, %i
      %next = addi %i, %c1 : tile<i32>
      %done = cmpi greater_than %next, %n, signed : tile<i32> -> tile<i1>
      if %done {
        break
      }
      continue %next : tile<i32>
    }""", ("1",), ((1,), (3, 3)), ("p.size == n", "n >= 1")),
    Attack("the result of a while loop", "bounds", "p n",
        """    %end = loop iter_values(%i = %c0) : tile<i32> -> tile<i32> {
      %done = cmpi greater_than_or_equal %i, %n, signed : tile<i32> -> tile<i1>
      if %done {
        break %i : tile<i32>
      }
      %next = addi %i, %c3 : tile<i32>
      continue %next : tile<i32>
    }
    store p, %end""", ("1",), ((1,), (4, 4)), ("p.size == n + 1", "n >= 1")),
    Attack("two loops that write the same", "race", "p n",
        """    for %i in (%x to %n, step %gx) : tile<i32> {
      store p, %i
      continue
    }
    for %i in (%y to %n, step %gy) : tile<i32> {
      store p, %i
      continue
    }""", _FREE, ((2,), (4, 4)), ("p.size == n",)),
    Attack("a loop that counts beyond its own block", "race", "p n k",
        """    %first = muli %x, %k : tile<i32>
    for %i in (%c0 to %n, step %c1) : tile<i32> {
      %at = addi %first, %i : tile<i32>
      store p, %at
      continue
    }""", _FREE, ((2,), (4, 3, 1)), ("p.size >= k * grid.x + n", "k >= 1"), unless="rows of an array do not overlap"),
    Attack("rows with a stride of a parameter", "race", "p n k",
        """    %first = muli %x, %k : tile<i32>
    %at = addi %first, %y : tile<i32>
    store p, %at""", ("grid.x", "grid.y"), ((2, 2), (4, 2, 1)), ("k >= 1",), unless="rows of an array do not overlap"),
    Attack("tiles of two sizes", "race", "p n",
        _view("p", "v", "%n", "1", "8") + _view("p", "w", "%n", "1", "4") + _store_view("v", "%x", "1", "8") + _store_view("w", "%x", "1", "4"),
        ("cdiv(n, 8)",), ((2,), (16, 16)), ("p.size == n",)),
    Attack("an atomic of one tile block", "race", "p n",
        """    %old, %t = atomic_rmw_tko relaxed tl_blk %p, add, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token""", _FREE, ((2,), (1, 1))),
    Attack("a relaxed store and a weak load", "race", "p q n",
        """    %t = store_ptr_tko relaxed device %q, %x : tile<ptr<i32>>, tile<i32> -> token
    load q, %c0, after %t -> %v
    store p, %x""", ("n",), ((2,), (2, 1, 2)), ("p.size == n",)),
    Attack("the same lane of two stores", "tokens", "p n",
        _lanes() + "    store p, %index, mask %mask\n    store p, %index, mask %mask", ("cdiv(n, 8)",), ((1,), (8, 8)), ("p.size == n",)),
    Attack("a view and a pointer", "tokens", "p n",
        _view("p", "v", "%n", "1", "4") + _store_view("v", "%x", "1", "4") + "    %i = muli %x, %c4 : tile<i32>\n    store p, %i",
        ("cdiv(n, 4)",), ((1,), (4, 4)), ("p.size == n",)),
    Attack("tokens that meet after one of them", "tokens", "p q n",
        """    load p, %x -> %u, %t
    load q, %x -> %v, %s
    %both = join_tokens %s, %s : token
    store p, %x, after %both""", ("n",), ((1,), (1, 1, 1))),
    Attack("rows from 1 to m", "bounds", "p m n",
        """    %row = addi %x, %c1 : tile<i32>
    %first = muli %row, %n : tile<i32>
    %i = addi %first, %y : tile<i32>
    store p, %i""", ("m", "n"), ((2, 3), (6, 2, 3)), ("p.size >= m * n", "m >= 1", "n >= 1")),
    Attack("a view that begins later", "bounds", "p n",
        "    %later = offset %p, %c4 : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>\n" + _view("later", "v", "%n", "1", "4") + _store_view("v", "%x", "1", "4"),
        ("cdiv(n, 4)",), ((2,), (8, 8)), ("p.size == n",)),
    Attack("a division in a branch that is taken", "division", "p n m",
        """    %big = cmpi greater_than %n, %m, signed : tile<i32> -> tile<i1>
    if %big {
      %i = divi %n, %m signed : tile<i32>
      store p, %c0
    }""", ("1",), ((1,), (1, 3, 0)), ("n > 0",)),
    Attack("a division of lanes", "division", "p n",
        _lanes() + "    %i = remi %index, %lane signed : tile<8xi32>\n    store p, %index, mask %mask", ("cdiv(n, 8)",), ((1,), (8, 8)), ("p.size == n",)),
    Attack("an assertion about contents", "asserts", "p q n",
        """    load q, %x -> %v
    %fine = cmpi greater_than_or_equal %v, %c0, signed : tile<i32> -> tile<i1>
    assert %fine, "not negative" : tile<i1>
    store p, %x""", ("n",), ((1,), (1, [-1], 1)), ("p.size == n", "q.size == n")),
    Attack("an assertion about lanes", "asserts", "p n",
        _lanes() + """    assert %mask, "whole tiles" : tile<8xi1>
    store p, %index, mask %mask""", ("cdiv(n, 8)",), ((1,), (7, 7)), ("p.size == n",)),
    Attack("the last tile is left out", "coverage", "p n",
        """    %tiles = divi %n, %c4 signed : tile<i32>
    %inside = cmpi less_than %x, %tiles, signed : tile<i32> -> tile<i1>
""" + _view("p", "v", "%n", "1", "4") + "    if %inside {\n" + _store_view("v", "%x", "1", "4") + "    }\n",
        ("cdiv(n, 4)",), ((2,), (6, 6)), ("p.size == n",)),
    Attack("every other tile", "coverage", "p n",
        _view("p", "v", "%n", "1", "4") + "    %i = muli %x, %c2 : tile<i32>\n    %j = divi %i, %c2 signed : tile<i32>\n    %k = muli %j, %c0 : tile<i32>\n" + _store_view("v", "%k", "1", "4"),
        ("cdiv(n, 4)",), ((2,), (8, 8)), ("p.size == n", "n > 4")),
    Attack("a loop that stops short", "coverage", "p n",
        """    %last = subi %n, %c1 : tile<i32>
    for %i in (%c0 to %last, step %c1) : tile<i32> {
      store p, %i
      continue
    }""", ("1",), ((1,), (3, 3)), ("p.size == n",)),
    Attack("a grid-stride loop with a step too long", "coverage", "p n",
        """    %step = addi %gx, %c1 : tile<i32>
    for %i in (%x to %n, step %step) : tile<i32> {
      store p, %i
      continue
    }""", _FREE, ((2,), (4, 4)), ("p.size == n",)),
    # Bits, sizes and tensors that are taken for others.
    Attack("a carried number that is cut to fewer bits", "bounds", "p n",
        """    %first = constant <i64: 4294967296> : tile<i64>
    %end = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%a = %first) -> (tile<i64>) {
      %low = trunci %a : tile<i64> -> tile<i32>
      %next = addi %low, %c1 : tile<i32>
      %wide = exti %next signed : tile<i32> -> tile<i64>
      continue %wide : tile<i64>
    }
    %d = subi %end, %first : tile<i64>
    %at = offset %p, %d : tile<ptr<i32>>, tile<i64> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %at, %c1 : tile<ptr<i32>>, tile<i32> -> token""", ("1",), ((1,), (8, 3)), ("p.size > n", "n >= 1", "n <= 100")),
    Attack("windows of rows that are written", "race", "p m n k",
        _rows("v", "%m, %n", "%n, %c1") + _rows("w", "%m, %k", "%n, %c1")
        + _load_rows("w", "%x, %c1") + _store_rows("v", "%x, %c0"),
        ("m",), ((3,), (20, 3, 4, 8)), ("k == 2 * n", "n == 4", "p.size >= m * n + n")),
    Attack("a tensor in two element sizes", "race", "p n",
        _view("p", "v", "%n", "1", "4") + """    %half = ptr_to_ptr %p : tile<ptr<i32>> -> tile<ptr<i16>>
    %twice = muli %n, %c2 : tile<i32>
    %h_tensor = make_tensor_view %half, shape = [%twice], strides = [1] : tile<i32> -> tensor_view<?xi16, strides=[1]>
    %h = make_partition_view %h_tensor : partition_view<tile=(4), tensor_view<?xi16, strides=[1]>>
    %read, %t = load_view_tko weak %h[%x] : partition_view<tile=(4), tensor_view<?xi16, strides=[1]>>, tile<i32> -> tile<4xi16>, token
""" + _store_view("v", "%x", "1", "4"), ("cdiv(n, 4)",), ((2,), (8, 8)), ("p.size == n",)),
    Attack("a stride of zero beside a parameter's", "race", "p m n k",
        _rows("v", "%m, %n", "%k, %c0") + _store_rows("v", "%x, %y"),
        ("m", "cdiv(n, 4)"), ((1, 2), (8, 1, 8, 8)), ("k >= 1",)),
    Attack("a stride that is a remainder", "race", "p m n k",
        "    %square = muli %k, %k : tile<i32>\n    %rest = remi %square, %n signed : tile<i32>\n"
        + _rows("v", "%m, %n", "%rest, %c1") + _store_rows("v", "%x, %y"),
        ("m", "cdiv(n, 4)"), ((2, 2), (80, 2, 8, 2)), ("k >= 1",)),
    Attack("rows of twice as many columns", "race", "p m n",
        """    %first = muli %x, %n : tile<i32>
    %i = addi %first, %y : tile<i32>
    store p, %i""", ("m", "2 * n"), ((2, 4), (8, 2, 2)), ("p.size >= m * n + n", "n >= 1")),
    Attack("a parameter with the name of a size", "bounds", "p n p.size",
        "    %i = addi %p.size, %c0 : tile<i32>\n    store p, %i", ("1",), ((1,), (4, 4, 5)), ("arg0.size == arg1", "arg2 < 6")),
    Attack("an array larger than the bound of its mask", "coverage", "p n",
        _lanes() + "    store p, %index, mask %mask", ("cdiv(n, 8)",), ((1,), (16, 8)), ("p.size == 2 * n",)),
    Attack("an array larger than its tensor", "coverage", "p n",
        _view("p", "v", "%n", "1", "4") + _store_view("v", "%x", "1", "4"), ("cdiv(n, 4)",), ((2,), (16, 8)), ("p.size == 2 * n",)),
    Attack("every other element of an array", "coverage", "p n",
        _view("p", "v", "%n", "2", "4") + _store_view("v", "%x", "2", "4"), ("cdiv(n, 4)",), ((2,), (16, 8)), ("p.size == 2 * n",)),
    Attack("an assumption about a constant", "asserts", "p n",
        "    %a = assume bounded<0, 3>, %c5 : tile<i32>\n    store p, %c0", ("1",), ((1,), (4, 4)), ("p.size == n",)),
    Attack("an assumption about a parameter in a branch", "asserts", "p n m",
        """    %positive = cmpi greater_than %m, %c0, signed : tile<i32> -> tile<i1>
    if %positive {
      %a = assume bounded<0, 3>, %m : tile<i32>
      store p, %c0
    }""", ("1",), ((1,), (4, 4, 7)), ("p.size == n",)),
    Attack("an assumption about an address", "asserts", "p n",
        """    %at = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %a = assume div_by<16>, %at : tile<ptr<i32>>
    %t = store_ptr_tko weak %a, %c1 : tile<ptr<i32>>, tile<i32> -> token""", ("n",), ((2,), (4, 4)), ("p.size == n",)),
    Attack("a part that a tile does not have", "bounds", "p n",
        """    %lane = iota : tile<8xi32>
    %part = extract %lane[%n] : tile<8xi32> -> tile<4xi32>
    store p, %c0""", ("1",), ((1,), (4, 4)), ("p.size == n",)),
    Attack("the smallest number by minus one", "overflow", "p n m",
        """    %minus = subi %c0, %c1 : tile<i32>
    %quotient = divi %m, %minus signed : tile<i32>
    store p, %c0""", ("1",), ((1,), (4, 4, -2147483648)), ("p.size == 4",)),
    Attack("a flag on a sum that is stored", "overflow", "p n m",
        """    %sum = addi %n, %m overflow<no_signed_wrap> : tile<i32>
    %t = store_ptr_tko weak %p, %sum : tile<ptr<i32>>, tile<i32> -> token""", ("1",), ((1,), (1, 2147483647, 1)), ("p.size == 1",)),
    Attack("a counter that leaves its type", "termination", "p n k",
        """    for %i in (%c0 to %n, step %k) : tile<i32> {
      continue
    }
    store p, %c0""", ("1",), ((1,), (1, 2147483647, 1500000000)), ("k >= 1",), unless="an integer may wrap"),
    Attack("a word between two others", "bounds", "p q n",
        """    %bytes = ptr_to_ptr %q : tile<ptr<i32>> -> tile<ptr<i8>>
    %second = offset %bytes, %c1 : tile<ptr<i8>>, tile<i32> -> tile<ptr<i8>>
    %between = ptr_to_ptr %second : tile<ptr<i8>> -> tile<ptr<i32>>
    %u, %t = load_ptr_tko weak %between : tile<ptr<i32>> -> tile<i32>, token
    load q, %c0 -> %v
    %d = subi %v, %u : tile<i32>
    store p, %d""", ("1",), ((1,), (1, [256, 0], 1)), ("p.size >= 1", "q.size >= 2")),
    # Tensors that move.
    Attack("a tensor that moves against its tiles", "race", "p n",
        """    %back = muli %x, %c4 : tile<i32>
    %first = subi %n, %back : tile<i32>
    %base = offset %p, %first : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
""" + _view("base", "v", "%n", "1", "4") + _store_view("v", "%x", "1", "4"), ("2",), ((2,), (24, 8)), ("n == 8", "p.size == 24")),
    Attack("a tensor that moves in a loop", "tokens", "p n",
        """    for %i in (%c0 to %c2, step %c1) : tile<i32> {
      %back = muli %i, %c4 : tile<i32>
      %first = subi %n, %back : tile<i32>
      %base = offset %p, %first : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
""" + _view("base", "v", "%n", "1", "4") + _store_view("v", "%i", "1", "4") + "      continue\n    }", ("1",), ((1,), (24, 8)), ("n == 8", "p.size == 24")),
    Attack("a stride that changes in a loop", "tokens", "p n",
        """    for %i in (%c1 to %c3, step %c1) : tile<i32> {
      %stride = muli %i, %c4 : tile<i32>
      %tile = divi %c2, %i signed : tile<i32>
""" + _view("p", "v", "%n", "%stride", "1") + _store_view("v", "%tile", "?", "1") + "      continue\n    }", ("1",), ((1,), (24, 3)), ("n == 3", "p.size == 24")),
    Attack("arguments that change places", "bounds", "p n",
        """    %e, %f = for %i in (%c0 to %c3, step %c1) : tile<i32> iter_values(%a = %c0, %b = %n) -> (tile<i32>, tile<i32>) {
      store p, %a
      continue %b, %a : tile<i32>, tile<i32>
    }""", ("1",), ((1,), (4, 4)), ("p.size == n",)),
    Attack("a mask in 8 bits", "bounds", "p n",
        _lanes() + """    %low = trunci %index : tile<8xi32> -> tile<8xi8>
    %end = trunci %limit : tile<8xi32> -> tile<8xi8>
    %below = cmpi less_than %low, %end, signed : tile<8xi8> -> tile<8xi1>
    store p, %index, mask %below""", ("cdiv(n, 8) + 16",), ((17,), (8, 8)), ("p.size == n",)),
)  # fmt: skip
