"""Bugs planted into the kernels: each is a change of a kernel's text, or of its grid, and the question that it breaks.

The kernels that they are planted in are right: they are the other half of the test.  A bug is `shown` by a launch among
those that the kernel is meant for, unless that launch would never end or not fit into memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.proofs.kernels import KERNELS, OwnKernel


@dataclass(frozen=True)
class Bug:
    name: str
    kernel: str
    question: str
    changes: tuple[tuple[str, str], ...] = ()
    """Old text, which the kernel has once, and new text."""
    grid: tuple[str, ...] = ()
    """The grid that it is launched with, instead of the kernel's."""
    shown: bool = True
    arrays: tuple[tuple[str, str], ...] = ()
    """Arrays of other sizes than the kernel's."""
    assume: tuple[str, ...] = ()
    """What a proof is told, beside the kernel's own assumptions."""

    @property
    def text(self) -> str:
        text = KERNELS[self.kernel].text
        for old, new in self.changes:
            assert text.count(old) == 1, f"{self.name}: {text.count(old)} times in {self.kernel}: {old}"
            text = text.replace(old, new)
        return text

    @property
    def launched(self) -> OwnKernel:
        """The kernel, with the launches of the bug."""
        kernel = KERNELS[self.kernel]
        arrays = kernel.arrays | dict(self.arrays)
        return replace(kernel, grid=self.grid or kernel.grid, arrays=arrays, assume=(*kernel.assume, *self.assume))


_MASKED_STORE = "%c_at, %sum, %mask : !pointers, tile<128xf32>, tile<128xi1>"
_MASKED_LOAD = "%a_at, %mask, %zero : !pointers, tile<128xi1>, tile<128xf32>"
_ADD = """%old, %added = atomic_rmw_tko relaxed device %at, addf, %sum, %mask : !pointers, tile<32xf32>, tile<32xi1> -> tile<32xf32>, token"""
_PLAIN_ADD = """%nothing = constant <f32: 0.0> : tile<32xf32>
    %old, %read = load_ptr_tko weak %at, %mask, %nothing : !pointers, tile<32xi1>, tile<32xf32> -> tile<32xf32>, token
    %new = addf %old, %sum : tile<32xf32>
    %added = store_ptr_tko weak %at, %new, %mask token=%read : !pointers, tile<32xf32>, tile<32xi1> -> token"""
_COUNT = """%old, %counted = atomic_rmw_tko relaxed device %count_at, add, %one, %mask : !pointers, !index, tile<128xi1> -> !index, token"""
_PLAIN_COUNT = """%old, %read = load_ptr_tko weak %count_at, %mask, %zero : !pointers, tile<128xi1>, !index -> !index, token
    %new = addi %old, %one : !index
    %counted = store_ptr_tko weak %count_at, %new, %mask token=%read : !pointers, !index, tile<128xi1> -> token"""
_WIDE_PRODUCT = """%target_first = muli %i_wide, %width_wide : tile<i64>"""
_NARROW_PRODUCT = """%narrow = muli %i, %width : tile<i32>
    %target_first = exti %narrow signed : tile<i32> -> tile<i64>"""
_SPIN = "cmpi equal %found, %open, signed"
_ENDLESS = """loop iter_values(%i = %n) : tile<i32> {
      %is_done = cmpi less_than %i, %size, signed : tile<i32> -> tile<i1>
      if %is_done {
        break
      }
      continue %i : tile<i32>
    }
    %stored = store_ptr_tko weak %c_at"""

BUGS = (
    # Masks and extents.
    Bug("no mask of a store", "vector_add", "bounds", ((_MASKED_STORE, "%c_at, %sum : !pointers, tile<128xf32>"),)),
    Bug("no mask of a load", "vector_add", "bounds",
        ((f"%x, %x_token = load_ptr_tko weak {_MASKED_LOAD}", "%x, %x_token = load_ptr_tko weak %a_at : !pointers"),)),
    Bug("mask with <=", "vector_add", "bounds", (("cmpi less_than %index", "cmpi less_than_or_equal %index"),)),
    Bug("mask one short", "vector_add", "coverage",
        (("%mask = cmpi less_than %index", "%one = constant <i32: 1> : !index\n    %after = addi %index, %one : !index\n    %mask = cmpi less_than %after"),)),
    Bug("no mask at the left end", "stencil", "bounds", (("%has_left = andi %inside, %after_first", "%has_left = andi %inside, %inside"),)),
    Bug("mask with <= at the right end", "stencil", "bounds", (("%before_last = cmpi less_than ", "%before_last = cmpi less_than_or_equal "),)),
    Bug("mask of another element", "stencil", "bounds", (("%right_at, %has_right", "%right_at, %inside"),)),
    Bug("rows of the table are not checked", "gather_rows", "bounds", (("%mask = andi %inside, %valids", "%mask = andi %inside, %inside"),)),
    Bug("negative rows are not checked", "gather_rows", "bounds", (("%valid = andi %at_least, %below", "%valid = andi %below, %below"),)),
    Bug("rows up to the last one, inclusive", "gather_rows", "bounds", (("cmpi less_than %row, %m", "cmpi less_than_or_equal %row, %m"),)),
    Bug("bins are not checked", "histogram", "bounds", (("%mask = andi %at_least, %below", "%mask = andi %at_least, %inside"),)),
    Bug("masked elements count in bin 0", "histogram", "bounds",
        (("add, %one, %mask :", "add, %one, %inside :"), ("%none = constant <i32: -1>", "%none = constant <i32: 0>"))),
    # Tiles and grids.
    Bug("overlapping tiles", "vector_add", "race", (("constant <i32: 128>", "constant <i32: 127>"),)),
    Bug("tiles with gaps", "vector_add", "coverage", (("constant <i32: 128>", "constant <i32: 129>"),)),
    Bug("block id of another axis", "vector_add", "race", (("%block, %block_y, %block_z", "%block_y, %block, %block_z"),)),
    Bug("grid rounded down", "vector_add", "coverage", grid=("n // 128",)),
    Bug("one tile block too many", "transpose", "bounds", grid=("m // 32 + 1", "cdiv(n, 64)")),
    Bug("extents of the grid swapped", "transpose", "bounds", grid=("cdiv(n, 64)", "cdiv(m, 32)")),
    Bug("target index not transposed", "transpose", "bounds", (("%target_tiles[%column, %row]", "%target_tiles[%row, %column]"),)),
    Bug("target extents not transposed", "transpose", "bounds",
        (("%target, shape = [%n, %m], strides = [%m, 1]", "%target, shape = [%m, %n], strides = [%n, 1]"),)),
    Bug("stride of the source for the target", "transpose", "race",
        (("%target, shape = [%n, %m], strides = [%m, 1]", "%target, shape = [%n, %m], strides = [%n, 1]"),),
        arrays=(("target", "(n - 1) * n + m + n * m"),)),
    Bug("another tile than the grid's", "prefix_sum", "coverage", grid=("cdiv(n, 512)",)),
    Bug("every block stores at column 0", "matmul", "race", (("%c_tiles[%row, %column]", "%c_tiles[%row, %zero]"),)),
    Bug("rows and columns swapped", "matmul", "bounds", (("%row, %column, %block_z =", "%column, %row, %block_z ="),)),
    Bug("index of a transposed", "matmul", "bounds", (("%a_tiles[%row, %step]", "%a_tiles[%step, %row]"),)),
    Bug("b read as transposed", "matmul", "bounds",
        (("%b, shape = [%k, %n], strides = [%n, 1]", "%b, shape = [%n, %k], strides = [%k, 1]"),)),
    Bug("row after the last one", "softmax", "bounds",
        (("%row, %block_y, %block_z = get_tile_block_id : tile<i32>", "%before_row, %block_y, %block_z = get_tile_block_id : tile<i32>\n    %next = constant <i32: 1> : tile<i32>\n    %row = addi %before_row, %next : tile<i32>"),)),
    Bug("grid without a dimension", "attention", "coverage", grid=("cdiv(queries, 64)", "heads")),
    Bug("head of a query for a key", "attention", "bounds", (("%k_tiles[%batch, %key_head,", "%k_tiles[%batch, %head,"),), assume=("heads == 2 * groups",)),
    Bug("batch and head swapped", "attention", "bounds", (("%out_tiles[%batch, %head,", "%out_tiles[%head, %batch,"),)),
    # Loops.
    Bug("loop one too long", "matmul", "bounds",
        (("%sum = for %step in (%zero to %steps,", "%longer = addi %steps, %one : tile<i32>\n    %sum = for %step in (%zero to %longer,"),)),
    Bug("cdiv with one too many", "attention", "bounds",
        (("%steps = divi %keys, %side signed rounding<positive_inf>", "%keys_and_side = addi %keys, %side : tile<i32>\n    %steps = divi %keys_and_side, %side signed"),)),
    Bug("every block computes every tile", "persistent_matmul", "race", (("(%block to %tiles, step %blocks)", "(%zero to %tiles, step %blocks)"),)),
    Bug("step 1 of a grid-stride loop", "persistent_matmul", "race", (("(%block to %tiles, step %blocks)", "(%block to %tiles, step %one)"),)),
    Bug("row by the count of rows", "persistent_matmul", "bounds", (("%row = divi %tile, %columns", "%row = divi %tile, %rows"),)),
    Bug("last tiles are left out", "persistent_matmul", "coverage", (("%n, %side signed rounding<positive_inf>", "%n, %side signed rounding<zero>"),)),
    Bug("last group as high as the others", "swizzled_matmul", "bounds", (("mini %left, %height", "maxi %left, %height"),)),
    Bug("columns rounded down", "swizzled_matmul", "division", (("%n, %side signed rounding<positive_inf>", "%n, %side signed rounding<zero>"),)),
    Bug("loop that never ends", "vector_add", "termination", (("%stored = store_ptr_tko weak %c_at", _ENDLESS),), shown=False),
    Bug("step 0", "matmul", "termination", (("to %steps, step %one)", "to %steps, step %zero)"),)),
    # Order.
    Bug("plain addition", "split_sum", "race", ((_ADD, _PLAIN_ADD),)),
    Bug("plain count", "histogram", "race", ((_COUNT, _PLAIN_COUNT),)),
    Bug("several in one store", "histogram", "coverage", ((_COUNT, _PLAIN_COUNT),)),
    Bug("result in place of its neighbors", "stencil", "race", (("%target_1 = reshape %target :", "%target_1 = reshape %source :"),)),
    Bug("atomics of one tile block", "split_sum", "race", (("relaxed device", "relaxed tl_blk"),)),
    Bug("store without the token of the load", "prefix_sum", "tokens", (("%x_tiles[%part] token = %loaded : tile<256xf32>", "%x_tiles[%part] : tile<256xf32>"),)),
    Bug("sums at one place", "prefix_sum", "race",
        (("%ended = store_view_tko weak %total_1, %ends_tiles[%part]", "%first_part = constant <i32: 0> : tile<i32>\n    %ended = store_view_tko weak %total_1, %ends_tiles[%first_part]"),)),
    Bug("lock taken without acquire", "locked_sum", "race", (("atomic_cas_tko acquire device", "atomic_cas_tko relaxed device"),)),
    Bug("lock left without release", "locked_sum", "race", (("atomic_rmw_tko release device", "atomic_rmw_tko relaxed device"),)),
    Bug("load before the lock", "locked_sum", "race", (("%totals_tiles[%column] token = %locked", "%totals_tiles[%column] token = %start"),)),
    Bug("unlock before the store", "locked_sum", "race", (("xchg, %open token=%written", "xchg, %open token=%read"),)),
    Bug("lock of the row", "locked_sum", "race", (("offset %locks, %column", "offset %locks, %row"),), arrays=(("locks", "max(cdiv(n, 32), cdiv(m, 64))"),)),
    Bug("enters also when the lock is taken", "locked_sum", "race", ((_SPIN, "cmpi greater_than_or_equal %found, %open, signed"),), shown=False),
    # Numbers.
    Bug("offset in 32 bits", "gather_rows", "overflow", ((_WIDE_PRODUCT, _NARROW_PRODUCT),), shown=False),
    Bug("more groups than heads", "attention", "division", (("%group = divi %heads, %groups", "%group = divi %heads, %queries"),)),
    Bug("size of the last group", "swizzled_matmul", "division", (("%left = subi %rows, %first", "%left = subi %first, %first"),)),
    Bug("assertion about another number", "prefix_sum", "asserts", (("cmpi less_than %part, %parts", "cmpi greater_than %part, %parts"),)),
    Bug("wrong promise", "vector_add", "asserts",
        (("%size = constant", "%block_promised = assume bounded<0, 0>, %block : tile<i32>\n    %size = constant"),)),
)  # fmt: skip
