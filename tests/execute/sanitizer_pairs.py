"""A table of near twins: for each thing the sanitizer reports, a program that has the mistake and one that does not.

The two differ in one place only, written `HERE` in the program or in its arguments.  Arguments are spelled as for
`tileir run`; `empty:` ones do not count as written.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product


class Pair:
    """`wrong` in place of `HERE` makes the mistake, `right` does not."""

    def __init__(
        self,
        kind: str,
        name: str,
        body: str,
        wrong: str,
        right: str,
        *,
        arguments: str = "zeros:i32:8",
        parameters: str = "%p: tile<ptr<i32>>",
        before: str = "",
        grid: int = 1,
    ) -> None:
        self.kind = kind
        self.name = name
        self.wrong = wrong
        self.right = right
        self.grid = grid
        self.arguments = arguments
        self.text = (
            f"cuda_tile.module @m {{ {before}\n  entry @k({parameters}) {{\n"
            f"  %x, %y, %z = get_tile_block_id : tile<i32>\n{body}\n  return\n  }}\n}}\n"
        )

    def program(self, chosen: str) -> str:
        return self.text.replace("HERE", chosen)

    def argument_texts(self, chosen: str) -> list[str]:
        return self.arguments.replace("HERE", chosen).split()


VIEW = "partition_view<tile=(1), tensor_view<1xi32, strides=[1]>>"


def access(operation: str, pointer: str, number: int, token: str = "", semantics: str = "") -> str:
    """One access of one i32 through a pointer; it gives the token %t<number>."""
    result = f"%t{number}"
    types = "tile<ptr<i32>>"
    strong = semantics or "relaxed device"
    weak = semantics or "weak"
    view = f"""  %s{number} = make_tensor_view {pointer}, shape = [1], strides = [1] : tensor_view<1xi32, strides=[1]>
  %w{number} = make_partition_view %s{number} : {VIEW}
  %i{number} = constant <i32: 0> : tile<i32>
  %c{number} = constant <i32: 7> : tile<1xi32>
"""
    return {
        "load_ptr_tko": f"  %v{number}, {result} = load_ptr_tko {weak} {pointer}{token} : {types} -> tile<i32>, token\n",
        "store_ptr_tko": f"  {result} = store_ptr_tko {weak} {pointer}, %x{token} : {types}, tile<i32> -> token\n",
        "atomic_load_tko": f"  %v{number}, {result} = atomic_load_tko {strong} {pointer}{token} : {types} -> tile<i32>, token\n",
        "atomic_store_tko": f"  {result} = atomic_store_tko {strong} {pointer}, %x{token} : {types}, tile<i32> -> token\n",
        "atomic_rmw_tko": f"  %v{number}, {result} = atomic_rmw_tko {strong} {pointer}, add, %x{token} : {types}, tile<i32> -> tile<i32>, token\n",
        "atomic_cas_tko": f"  %v{number}, {result} = atomic_cas_tko {strong} {pointer}, %x, %x{token} : {types}, tile<i32> -> tile<i32>, token\n",
        "load_view_tko": f"{view}  %v{number}, {result} = load_view_tko {weak} %w{number}[%i{number}]{token} : {VIEW}, tile<i32> -> tile<1xi32>, token\n",
        "store_view_tko": f"{view}  {result} = store_view_tko {weak} %c{number}, %w{number}[%i{number}]{token} : tile<1xi32>, {VIEW}, tile<i32> -> token\n",
        "atomic_red_view_tko": f"{view}  {result} = atomic_red_view_tko {strong} %w{number}[%i{number}], add, %c{number}{token.replace('=', ' = ')} : tile<1xi32>, {VIEW}, tile<i32> -> token\n",
    }[operation]


ACCESSES = (
    "load_ptr_tko", "store_ptr_tko", "atomic_load_tko", "atomic_store_tko", "atomic_rmw_tko", "atomic_cas_tko",
    "load_view_tko", "store_view_tko", "atomic_red_view_tko",
)  # fmt: skip
ATOMICS = tuple([name for name in ACCESSES if name.startswith("atomic")])
READERS = ("load_ptr_tko", "atomic_load_tko", "load_view_tko")

# %q is %p moved by a number of elements that `HERE` tells.
MOVED = """  %n = constant <i32: HERE> : tile<i32>
  %q = offset %p, %n : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
"""
ADDRESS = """  %a = ptr_to_int %p : tile<ptr<i32>> -> tile<i64>
  %n = constant <i64: HERE> : tile<i64>
  %b = addi %a, %n : tile<i64>
  %q = int_to_ptr %b : tile<i64> -> tile<ptr<i32>>
"""
ALLOCA = "  %a = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>\n"


# --- where accesses go ---


def _places() -> Iterator[Pair]:
    for operation in ACCESSES:
        yield Pair("out-of-bounds", f"{operation} past the end", MOVED + access(operation, "%q", 1), "8", "7")
        yield Pair("out-of-bounds", f"{operation} before the start", MOVED + access(operation, "%q", 1), "-1", "0")
        yield Pair("misaligned", operation, ADDRESS + access(operation, "%q", 1), "2", "4")
        if operation not in READERS:
            yield Pair(
                "read-only",
                f"{operation} to a constant global",
                "  %g = get_global @g : tile<ptr<i32>>\n" + access(operation, "%g", 1),
                " constant",
                "",
                before="globalHERE @g alignment = 16 <i32: [1, 2]> : tile<2xi32>",
            )
    yield Pair(
        "out-of-bounds",
        "past a global",
        "  %g = get_global @g : tile<ptr<i32>>\n" + MOVED.replace("%p", "%g") + access("load_ptr_tko", "%q", 1),
        "2",
        "1",
        before="global @g alignment = 16 <i32: [1, 2]> : tile<2xi32>",
    )
    yield Pair(
        "out-of-bounds", "past an alloca", ALLOCA + MOVED.replace("%p", "%a") + access("store_ptr_tko", "%q", 1),
        "4", "3",
    )  # fmt: skip
    yield Pair(
        "out-of-bounds",
        "an array that ends inside of an element",
        access("load_ptr_tko", "%q", 1).join(["  %q = ptr_to_ptr %p : tile<ptr<i8>> -> tile<ptr<i32>>\n", ""]),
        "3",
        "4",
        parameters="%p: tile<ptr<i8>>",
        arguments="zeros:i8:HERE",
    )
    view = "partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>"
    made = f"""  %s = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %w = make_partition_view %s : {view}
  %c = constant <i32: 5> : tile<4xi32>
"""
    load = f"  %v, %t = load_view_tko weak %w[%x]PROMISE : {view}, tile<i32> -> tile<4xi32>, token"
    store = f"  %t = store_view_tko weak %c, %w[%x]PROMISE : tile<4xi32>, {view}, tile<i32> -> token"
    red = f"  %t = atomic_red_view_tko relaxed device %w[%x], add, %cPROMISE : tile<4xi32>, {view}, tile<i32> -> token"
    parameters = "%p: tile<ptr<i32>>, %n: tile<i32>"
    yield Pair(
        "out-of-bounds", "a tensor view larger than its array", made + load.replace("PROMISE", ""), "8", "6",
        parameters=parameters, arguments="zeros:i32:6 HERE", grid=2,
    )  # fmt: skip
    for name, text in (("load_view_tko", load), ("store_view_tko", store), ("atomic_red_view_tko", red)):
        plain = made + text.replace("PROMISE", "")
        yield Pair("index-space", name, plain, "8", "9", parameters=parameters, arguments="zeros:i32:9 HERE", grid=3)
    before = "  %m = constant <i32: HERE> : tile<i32>\n" + load.replace("PROMISE", "").replace("[%x]", "[%m]")
    yield Pair(
        "index-space",
        "before the first tile",
        made + before,
        "-1",
        "0",
        parameters=parameters,
        arguments="zeros:i32:8 8",
    )
    for name, text in (("load_view_tko", load), ("store_view_tko", store)):
        yield Pair(
            "inbounds", name, made + text.replace("PROMISE", " inbounds = [HERE]"), "true", "false",
            parameters=parameters, arguments="zeros:i32:6 6", grid=2,
        )  # fmt: skip
    gather = "gather_scatter_view<tile=(4), tensor_view<8xi32, strides=[1]>, sparse_dim=0>"
    yield Pair(
        "inbounds",
        "gather",
        f"""  %s = make_tensor_view %p, shape = [8], strides = [1] : tensor_view<8xi32, strides=[1]>
  %w = make_gather_scatter_view %s : {gather}
  %i = constant <i32: [0, 7, HERE, 2]> : tile<4xi32>
  %v, %t = load_view_tko weak %w[%i] inbounds = [true] : {gather}, tile<4xi32> -> tile<4xi32>, token""",
        "8",
        "3",
    )


# --- what was written ---


def _contents() -> Iterator[Pair]:
    for operation in ACCESSES:
        if operation in ("store_ptr_tko", "atomic_store_tko", "store_view_tko"):
            continue
        yield Pair(
            "uninitialized", f"{operation} of an argument", access(operation, "%p", 1), "empty", "zeros",
            arguments="HERE:i32:8",
        )  # fmt: skip
        yield Pair(
            "uninitialized",
            f"{operation} of an alloca",
            ALLOCA
            + access("store_ptr_tko", "%a", 0)
            + MOVED.replace("%p", "%a")
            + access(operation, "%q", 1, " token=%t0"),
            "1",
            "0",
        )


# --- tile blocks against each other, and the operations of one ---

# Each block has a place of its own; HERE is the pointer that is used.
OWN = "  %o = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>\n"

# Block 0 writes data and then a flag; block 1 reads the flag and then the data.
HANDOVER = """  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %flag = offset %p, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %first = cmpi equal %x, %zero, signed : tile<i32> -> tile<i1>
  if %first {
    %t0 = store_ptr_tko weak %p, %one : tile<ptr<i32>>, tile<i32> -> token
    %t1 = store_ptr_tko RELEASE device %flag, %oneTOKEN0 : tile<ptr<i32>>, tile<i32> -> token
  } else {
    %v0, %t2 = load_ptr_tko ACQUIRE device %flag : tile<ptr<i32>> -> tile<i32>, token
    %v1, %t3 = load_ptr_tko weak %pTOKEN2 : tile<ptr<i32>> -> tile<i32>, token
  }"""


def _handover(
    release: str = "release", acquire: str = "acquire", before: str = " token=%t0", after: str = " token=%t2"
) -> str:
    text = HANDOVER.replace("RELEASE", release).replace("ACQUIRE", acquire)
    return text.replace("TOKEN0", before).replace("TOKEN2", after)


def _order() -> Iterator[Pair]:
    weak = [name for name in ACCESSES if name not in ATOMICS]
    for operation in weak:
        # Read-write and write-write, through pointers and views: the other party is a store.
        body = OWN + access("store_ptr_tko", "%o", 1) + access(operation, "HERE", 2, " token=%t1")
        yield Pair("race", f"{operation} against a store", body, "%p", "%o", grid=4)
    for operation in ATOMICS:
        other = "atomic_rmw_tko" if operation == "atomic_load_tko" else operation
        body = access(other, "%p", 1, semantics="relaxed HERE") + access(
            operation, "%p", 2, " token=%t1", "relaxed HERE"
        )
        yield Pair("race", f"{operation} of too narrow a scope", body, "tl_blk", "device", grid=2)
        if operation != "atomic_red_view_tko":
            yield Pair(
                "race", f"{operation} of too narrow a scope for sys", body.replace("HERE", "sys", 1), "tl_blk", "sys",
                grid=2,
            )  # fmt: skip
    for first, second in product(ATOMICS, ("load_ptr_tko", "store_ptr_tko")):
        if first == "atomic_load_tko" and second == "load_ptr_tko":
            continue
        body = access(first, "%p", 1) + access(second, "%p", 2, " token=%t1", "HERE")
        yield Pair("race", f"{first} against a weak {second}", body, "weak", "relaxed device", grid=2)
    both = {"arguments": "zeros:i32:2"}
    yield Pair("race", "a handover without release", _handover(release="HERE"), "relaxed", "release", grid=2, **both)
    yield Pair("race", "a handover without acquire", _handover(acquire="HERE"), "relaxed", "acquire", grid=2, **both)
    yield Pair("race", "no token to the release", _handover(before="HERE"), "", " token=%t0", grid=2, **both)
    yield Pair("race", "no token from the acquire", _handover(after="HERE"), "", " token=%t2", grid=2, **both)

    for operation in ACCESSES:
        body = access("store_ptr_tko", "%p", 1) + access(operation, "%p", 2, "HERE")
        yield Pair("unordered", f"{operation} after a store", body, "", " token=%t1")
        if operation not in READERS:
            body = access("load_ptr_tko", "%p", 1) + access(operation, "%p", 2, "HERE")
            yield Pair("unordered", f"{operation} after a load", body, "", " token=%t1")
    reads = access("load_ptr_tko", "%p", 1) + access("load_ptr_tko", "%p", 2)
    join = "  %j = join_tokens HERE : token\n"
    yield Pair(
        "unordered", "a store after one of two loads", reads + join + access("store_ptr_tko", "%p", 3, " token=%j"),
        "%t2, %t2", "%t1, %t2",
    )  # fmt: skip
    halves = """  %h = ptr_to_ptr %p : tile<ptr<i32>> -> tile<ptr<i16>>
  %n = constant <i32: HERE> : tile<i32>
  %q = offset %h, %n : tile<ptr<i16>>, tile<i32> -> tile<ptr<i16>>
  %v, %t = load_ptr_tko weak %q : tile<ptr<i16>> -> tile<i16>, token"""
    yield Pair("unordered", "elements of two sizes", access("store_ptr_tko", "%p", 1) + halves, "1", "2")
    yield Pair(
        "unordered", "atomics without a token are ordered by nothing else",
        access("atomic_rmw_tko", "%p", 1) + access("store_ptr_tko", "%p", 2, semantics="HERE"), "weak", "relaxed device",
    )  # fmt: skip


# --- promises ---

PREDICATES = [
    ("div_by<4>", "4xi32", "[0, 4, 6, -8]", "[0, 4, 8, -8]"),
    ("div_by<4>", "i32", "2", "-4"),
    ("div_by<4, every 2 along 0>", "4xi32", "[4, 5, 9, 10]", "[4, 5, 8, 9]"),
    ("div_by<4, every 2 along 0>", "4xi32", "[4, 9, 8, 9]", "[4, 5, 8, 9]"),
    ("div_by<1, every 4 along 0>", "4xi32", "[3, 4, 5, 7]", "[3, 4, 5, 6]"),
    ("div_by<2, every 2 along 1>", "2x2xi32", "[[4, 5], [5, 6]]", "[[4, 5], [6, 7]]"),
    ("bounded<0, 9>", "4xi32", "[0, 9, 10, 1]", "[0, 9, 5, 1]"),
    ("bounded<0, ?>", "4xi32", "[0, -1, 1, 1]", "[0, 0, 1, 1]"),
    ("bounded<?, 9>", "4xi32", "[0, 10, 1, 1]", "[0, 9, 1, 1]"),
    ("bounded<0, 9, strict>", "4xi32", "[1, 9, 1, 1]", "[1, 8, 1, 1]"),
    ("bounded<0, 9, strict>", "4xi32", "[0, 8, 1, 1]", "[1, 8, 1, 1]"),
    ("same_elements<[2]>", "4xi32", "[7, 7, 8, 9]", "[7, 7, 8, 8]"),
    ("same_elements<[1, 2]>", "2x2xi32", "[[7, 7], [8, 9]]", "[[7, 7], [8, 8]]"),
]


def _promises() -> Iterator[Pair]:
    for predicate, shape, wrong, right in PREDICATES:
        body = f"  %c = constant <i32: HERE> : tile<{shape}>\n  %a = assume {predicate}, %c : tile<{shape}>"
        yield Pair("assume", f"{predicate} of {shape}, {wrong}", body, wrong, right)
    # An alloca begins at a multiple of 16 bytes.
    aligned = MOVED.replace("%p", "%a")
    yield Pair(
        "assume",
        "div_by<16> of a pointer",
        ALLOCA + aligned + "  %r = assume div_by<16>, %q : tile<ptr<i32>>",
        "1",
        "4",
    )
    view = "tensor_view<1xi32, strides=[1]>"
    body = f"  %s = make_tensor_view %q, shape = [1], strides = [1] : {view}\n  %r = assume div_by<16>, %s : {view}"
    yield Pair("assume", "div_by<16> of a tensor view", ALLOCA + aligned + body, "1", "4")
    pointers = """  %l = constant <i32: [0, 1, HERE, 3]> : tile<4xi32>
  %d = reshape %a : tile<ptr<i32>> -> tile<1xptr<i32>>
  %b = broadcast %d : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %q = offset %b, %l : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %r = assume div_by<16, every 4 along 0>, %q : tile<4xptr<i32>>"""
    yield Pair("assume", "div_by<16, every 4 along 0> of pointers", ALLOCA + pointers, "1", "2")
    body = """  %c = constant <i32: HERE> : tile<i32>
  %ok = cmpi less_than %x, %c, signed : tile<i32> -> tile<i1>
  assume_cond %ok : tile<i1>"""
    yield Pair("assume", "assume_cond", body, "2", "3", grid=3)


# --- numbers: the right operand (or the only one) is HERE ---

# By operation and flag, for i8: the left operand, the right one that overflows, and the nearest that does not.
OVERFLOW: dict[tuple[str, str], tuple[int, int, int]] = {
    ("addi", "no_signed_wrap"): (127, 1, 0),
    ("addi", "no_unsigned_wrap"): (-1, 1, 0),
    ("addi", "no_wrap"): (-128, -1, 0),
    ("subi", "no_signed_wrap"): (-128, 1, 0),
    ("subi", "no_unsigned_wrap"): (1, 2, 1),
    ("subi", "no_wrap"): (127, -1, 0),
    ("muli", "no_signed_wrap"): (64, 2, 1),
    ("muli", "no_unsigned_wrap"): (64, 4, 3),
    ("muli", "no_wrap"): (64, 2, 1),
    ("shli", "no_signed_wrap"): (1, 7, 6),
    ("shli", "no_unsigned_wrap"): (3, 7, 6),
    ("shli", "no_wrap"): (1, 7, 6),
    ("negi", "no_signed_wrap"): (0, -128, -127),
    ("negi", "no_wrap"): (0, -128, -127),
    ("trunci", "no_signed_wrap"): (0, 128, 127),
    ("trunci", "no_unsigned_wrap"): (0, 256, 255),
    ("trunci", "no_wrap"): (0, 128, 127),
}


def _compute(operation: str, left: int, type: str = "i8") -> str:
    return f"""  %a = constant <{type}: {left}> : tile<{type}>
  %b = constant <{type}: HERE> : tile<{type}>
  %c = {operation.replace("T", f"tile<{type}>")}"""


def _numbers() -> Iterator[Pair]:
    for (operation, flag), (left, wrong, right) in OVERFLOW.items():
        operands = "%b" if operation in ("negi", "trunci") else "%a, %b"
        type = "i16" if operation == "trunci" else "i8"
        to = " -> tile<i8>" if operation == "trunci" else ""
        body = _compute(f"{operation} {operands} overflow<{flag}> : T{to}", left, type)
        yield Pair("overflow", f"{operation} {flag}", body, str(wrong), str(right))
    yield Pair("overflow", "divi of the least number", _compute("divi %a, %b signed : T", -128), "-1", "-2")
    # Read as signed, i1 has -1 and 0: the quotient of -1 and -1 is too large for it.
    single = "  %a = constant <i1: HERE> : tile<i1>\n  %b = constant <i1: true> : tile<i1>\n  %c = divi %a, %b signed : tile<i1>"
    yield Pair("overflow", "divi of i1", single, "true", "false")
    for operation, sign, type in product(("divi", "remi"), ("signed", "unsigned"), ("i8", "i16", "i32", "i64")):
        body = _compute(f"{operation} %a, %b {sign} : T", 7, type)
        yield Pair("division-by-zero", f"{operation} {sign} {type}", body, "0", "1")
    for operation, width in product(("shli %a, %b", "shri %a, %b signed", "shri %a, %b unsigned"), (8, 16, 32, 64)):
        body = _compute(f"{operation} : T", 1, f"i{width}")
        yield Pair("shift", f"{operation} by the width of i{width}", body, str(width), str(width - 1))
        yield Pair("shift", f"{operation} by less than nothing in i{width}", body, "-1", "0")


def _loops() -> Iterator[Pair]:
    for width, unsigned in product((8, 16, 32, 64), (False, True)):
        type = f"i{width}"
        body = f"""  %a = constant <{type}: 0> : tile<{type}>
  %b = constant <{type}: HERE> : tile<{type}>
  %c = constant <{type}: {1 << (width - 2)}> : tile<{type}>
  for {"unsigned " if unsigned else ""}%k in (%a to %b, step %c) : tile<{type}> {{
    continue
  }}"""
        # -1 is the largest unsigned number.
        wrong = -1 if unsigned else (1 << (width - 1)) - 1
        name = f"the counter of {'an unsigned' if unsigned else 'a'} loop in {type}"
        yield Pair("overflow", name, body, str(wrong), str(1 << (width - 2)))


# --- what ends a tile block ---


def _ends() -> Iterator[Pair]:
    index = "  %a = constant <i32: 5> : tile<8xi32>\n  %b = constant <i32: 6> : tile<4xi32>\n  %n = constant <i32: HERE> : tile<i32>\n"
    for name, text in (
        ("extract", "  %c = extract %a[%n] : tile<8xi32> -> tile<4xi32>"),
        ("insert", "  %c = insert %b, %a[%n] : tile<4xi32>, tile<8xi32>"),
    ):
        yield Pair("index", f"{name} past the last sub-tile", index + text, "2", "1")
        yield Pair("index", f"{name} before the first sub-tile", index + text, "-1", "0")
    body = """  %c = constant <i32: [0, 0, HERE, 0]> : tile<4xi32>
  %l = constant <i32: 1> : tile<4xi32>
  %ok = cmpi less_than %c, %l, signed : tile<4xi32> -> tile<4xi1>
  assert %ok, "too large" : tile<4xi1>"""
    yield Pair("assert", "assert", body, "1", "0")
    loop = """  %a = constant <i32: 0> : tile<i32>
  %b = constant <i32: HERE> : tile<i32>
  for %k in (%a to %a, step %b) : tile<i32> {
    continue
  }"""
    yield Pair("error", "a loop without a step", loop, "0", "1")
    alloca = "  %a = alloca num_elem = 4, alignment = HERE : tile<ptr<i32>>"
    yield Pair("error", "more memory than there is", alloca, str(1 << 50), "16")


# --- what is left unwritten, and what is written twice ---

POINTERS = """  %lane = iota : tile<4xi32>
  %four = constant <i32: 4> : tile<i32>
  %start = muli %x, %four : tile<i32>
  %start_1 = reshape %start : tile<i32> -> tile<1xi32>
  %start_4 = broadcast %start_1 : tile<1xi32> -> tile<4xi32>
  %place = addi %start_4, %lane : tile<4xi32>
  %p_1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %p_4 = broadcast %p_1 : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %q = offset %p_4, %place : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
"""


def _coverage() -> Iterator[Pair]:
    view = "partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>"
    made = f"""  %s = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %w = make_partition_view %s : {view}
  %c = constant <i32: 5> : tile<4xi32>
  %t = store_view_tko weak %c, %w[%x] : tile<4xi32>, {view}, tile<i32> -> token"""
    both = {"parameters": "%p: tile<ptr<i32>>, %n: tile<i32>"}
    yield Pair(
        "unwritten", "store_view_tko, a grid too small", made, "9", "8", arguments="zeros:i32:HERE 8", grid=2, **both
    )
    yield Pair(
        "unwritten", "store_view_tko, a tensor too small", made, "7", "8", arguments="zeros:i32:8 HERE", grid=2, **both
    )
    for operation, semantics in (("store_ptr_tko", "weak"), ("atomic_store_tko", "relaxed device")):
        store = f"  %t = {operation} {semantics} %q, %lane, %m : tile<4xptr<i32>>, tile<4xi32>, tile<4xi1> -> token"
        mask = """  %n_1 = reshape %n : tile<i32> -> tile<1xi32>
  %n_4 = broadcast %n_1 : tile<1xi32> -> tile<4xi32>
  %m = cmpi less_than %place, %n_4, signed : tile<4xi32> -> tile<4xi1>
"""
        body = POINTERS + mask + store
        yield Pair(
            "unwritten", f"{operation}, a grid too small", body, "9", "8", arguments="zeros:i32:HERE 8", grid=2, **both
        )
        yield Pair(
            "unwritten", f"{operation}, a mask too small", body, "7", "8", arguments="zeros:i32:8 HERE", grid=2, **both
        )
        scatter = f"""  %i = constant <i32: [3, 1, HERE, 2]> : tile<4xi32>
  %p_1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %p_4 = broadcast %p_1 : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %q = offset %p_4, %i : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %f = constant <i32: 4> : tile<i32>
  %r = offset %p, %f : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %u = store_ptr_tko weak %r, %f : tile<ptr<i32>>, tile<i32> -> token
  %v = store_ptr_tko weak %p, %f : tile<ptr<i32>>, tile<i32> -> token
  %t = {operation} {semantics} %q, %i token=%v : tile<4xptr<i32>>, tile<4xi32> -> token"""
        yield Pair("written-twice", operation, scatter, "1", "0", arguments="zeros:i32:5")
    gather = "gather_scatter_view<tile=(4), tensor_view<5xi32, strides=[1]>, sparse_dim=0>"
    scatter = f"""  %s = make_tensor_view %p, shape = [5], strides = [1] : tensor_view<5xi32, strides=[1]>
  %w = make_gather_scatter_view %s : {gather}
  %i = constant <i32: [0, 3, HERE, 2]> : tile<4xi32>
  %f = constant <i32: 4> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %r = offset %p, %f : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %u = store_ptr_tko weak %r, %f : tile<ptr<i32>>, tile<i32> -> token
  %l = offset %p, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %v = store_ptr_tko weak %l, %f : tile<ptr<i32>>, tile<i32> -> token
  %t = store_view_tko weak %i, %w[%i] token=%v : tile<4xi32>, {gather}, tile<4xi32> -> token"""
    yield Pair("written-twice", "store_view_tko that scatters", scatter, "3", "1", arguments="zeros:i32:5")
    overlapping = """  %s = make_tensor_view %p, shape = [2, 4], strides = [HERE, 1] : tensor_view<2x4xi32, strides=[HERE,1]>
  %w = make_partition_view %s : partition_view<tile=(2x4), tensor_view<2x4xi32, strides=[HERE,1]>>
  %c = constant <i32: 5> : tile<2x4xi32>
  %f = constant <i32: 7> : tile<i32>
  %r = offset %p, %f : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %u = store_ptr_tko weak %r, %f : tile<ptr<i32>>, tile<i32> -> token
  %t = store_view_tko weak %c, %w[%x, %x] token=%u : tile<2x4xi32>, partition_view<tile=(2x4), tensor_view<2x4xi32, strides=[HERE,1]>>, tile<i32> -> token"""
    yield Pair(
        "written-twice", "store_view_tko of a tensor whose rows overlap", overlapping, "3", "4", arguments="zeros:i32:8"
    )


COVERAGE_KINDS = ("unwritten", "written-twice")
PAIRS = [*_places(), *_contents(), *_order(), *_promises(), *_numbers(), *_loops(), *_ends(), *_coverage()]
