"""Kernels that multiply matrices, by the ways in which their tiles come about, with every element type and accumulator.

D = C + A B: A is m x k, B is k x n, C and D are m x n, all row-major; a tile block makes a tile of D, launched on
(ceil(m / tile), ceil(n / tile)) blocks with the arrays and the three extents.  `FORMS` are

    views       tiles of partition views, which may stick out of the matrices; k in a loop
    pointers    tiles of pointers, which must not: extents are multiples of the tile's; k in a loop
    converted   A and B are in memory as f32 and converted where they are used, so that tiles are computed, not loaded
    transposed  B is in memory as n x k, and its tiles are permuted
    batched     the tiles have a batch of one in front
"""

from __future__ import annotations

Tile = tuple[int, int, int]
"""m, n and k of the tiles of a product."""

FORMS = ("views", "pointers", "converted", "transposed", "batched")

PAIRS = (
    ("bf16", "f32"), ("f16", "f32"), ("f16", "f16"), ("f32", "f32"), ("tf32", "f32"), ("f64", "f64"),
    ("f8E4M3FN", "f32"), ("f8E4M3FN", "f16"), ("f8E5M2", "f32"), ("f8E5M2", "f16"),
)  # fmt: skip
"""Types of factors with those that they are added in."""


class _Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def view(self, pointer: str, element: str, extents: tuple[str, str], tile: tuple[int, int]) -> tuple[str, str]:
        """A view that is cut into tiles, and its type; outside it has zeros."""
        tensor = f"tensor_view<?x?x{element}, strides=[?,1]>"
        whole = self.add(
            f"make_tensor_view {pointer}, shape = [{extents[0]}, {extents[1]}], strides = [{extents[1]}, 1] : "
            f"tile<i32> -> {tensor}"
        )
        type = f"partition_view<tile=({tile[0]}x{tile[1]}), padding_value = zero, {tensor}>"
        return self.add(f"make_partition_view {whole} : {type}"), type

    def load(self, view: tuple[str, str], row: str, column: str, type: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(
            f"{name}, {name}_t = load_view_tko weak {view[0]}[{row}, {column}] : {view[1]}, tile<i32> -> {type}, token"
        )
        return name

    def places(
        self, pointer: str, element: str, tile: tuple[int, int], row: str, column: str, stride: str
    ) -> tuple[str, str]:
        """The pointers to a tile that begins at a row and a column, given as how many tiles are before it."""
        rows, columns = tile
        shape = f"{rows}x{columns}"
        both = []
        for axis, (extent, before) in enumerate(((rows, row), (columns, column))):
            first = self.add(f"muli {before}, {self.add(f'constant <i32: {extent}> : tile<i32>')} : tile<i32>")
            thin = f"{extent}x1" if axis == 0 else f"1x{extent}"
            lane = self.add(f"iota : tile<{extent}xi32>")
            spread = self.add(f"reshape {lane} : tile<{extent}xi32> -> tile<{thin}xi32>")
            lanes = self.add(f"broadcast {spread} : tile<{thin}xi32> -> tile<{shape}xi32>")
            both.append(self.add(f"addi {lanes}, {self.spread(first, 'i32', shape)} : tile<{shape}xi32>"))
        scaled = self.add(f"muli {both[0]}, {self.spread(stride, 'i32', shape)} : tile<{shape}xi32>")
        index = self.add(f"addi {scaled}, {both[1]} : tile<{shape}xi32>")
        pointers = f"tile<{shape}xptr<{element}>>"
        base = self.spread(pointer, f"ptr<{element}>", shape)
        return self.add(f"offset {base}, {index} : {pointers}, tile<{shape}xi32> -> {pointers}"), pointers

    def spread(self, scalar: str, element: str, shape: str) -> str:
        one = self.add(f"reshape {scalar} : tile<{element}> -> tile<1x1x{element}>")
        return self.add(f"broadcast {one} : tile<1x1x{element}> -> tile<{shape}x{element}>")

    def load_from(self, places: tuple[str, str], type: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name}, {name}_t = load_ptr_tko weak {places[0]} : {places[1]} -> {type}, token")
        return name


def product_kernel(element: str, accumulator: str, tile: Tile, form: str) -> str:
    """The text of a kernel."""
    m, n, k = tile
    writer = _Writer()
    held = "f32" if form == "converted" else element
    right_held = (n, k) if form == "transposed" else (k, n)
    types = [f"tile<{m}x{k}x{held}>", f"tile<{right_held[0]}x{right_held[1]}x{held}>", f"tile<{m}x{n}x{accumulator}>"]
    extents = [("%m", "%k"), ("%n", "%k") if form == "transposed" else ("%k", "%n"), ("%m", "%n")]
    tiles = [(m, k), right_held, (m, n)]
    zero, one = (writer.add(f"constant <i32: {number}> : tile<i32>") for number in (0, 1))
    step = writer.add(f"constant <i32: {k}> : tile<i32>")
    less = writer.add(f"constant <i32: {k - 1}> : tile<i32>")
    count = writer.add(f"divi {writer.add(f'addi %k, {less} : tile<i32>')}, {step} signed : tile<i32>")
    pointed = form == "pointers"
    views = []
    if not pointed:
        elements = (held, held, accumulator, accumulator)
        for name, one_element, extent, shape in zip(
            ("%a", "%b", "%c", "%d"), elements, [*extents, extents[2]], [*tiles, tiles[2]], strict=True
        ):
            views.append(writer.view(name, one_element, extent, shape))
        start = writer.load(views[2], "%x", "%y", types[2])
    else:
        start = writer.load_from(writer.places("%c", accumulator, (m, n), "%x", "%y", "%n"), types[2])
    batch = "1x" if form == "batched" else ""
    total = f"tile<{batch}{m}x{n}x{accumulator}>"
    if batch:
        start = writer.add(f"reshape {start} : {types[2]} -> {total}")
    loop = f"%v{len(writer.lines)}"
    writer.lines.append(
        f"{loop} = for %i in ({zero} to {count}, step {one}) : tile<i32> iter_values(%sum = {start}) -> ({total}) {{"
    )
    if pointed:
        left = writer.load_from(writer.places("%a", held, (m, k), "%x", "%i", "%k"), types[0])
        right = writer.load_from(writer.places("%b", held, (k, n), "%i", "%y", "%n"), types[1])
    else:
        left = writer.load(views[0], "%x", "%i", types[0])
        places = ("%y", "%i") if form == "transposed" else ("%i", "%y")
        right = writer.load(views[1], places[0], places[1], types[1])
    if form == "transposed":
        right = writer.add(f"permute {right} [1, 0] : {types[1]} -> tile<{k}x{n}x{element}>")
    factors = [f"tile<{batch}{m}x{k}x{element}>", f"tile<{batch}{k}x{n}x{element}>"]
    if held != element:
        left = writer.add(f"ftof {left} : {types[0]} -> {factors[0]}")
        right = writer.add(f"ftof {right} : {types[1]} -> {factors[1]}")
    if batch:
        left = writer.add(f"reshape {left} : {types[0]} -> {factors[0]}")
        right = writer.add(f"reshape {right} : {types[1]} -> {factors[1]}")
    made = writer.add(f"mmaf {left}, {right}, %sum : {factors[0]}, {factors[1]}, {total}")
    writer.lines.append(f"continue {made} : {total}\n}}")
    if batch:
        loop = writer.add(f"reshape {loop} : {total} -> {types[2]}")
    if pointed:
        target = writer.places("%d", accumulator, (m, n), "%x", "%y", "%n")
        writer.lines.append(f"%t = store_ptr_tko weak {target[0]}, {loop} : {target[1]}, {types[2]} -> token")
    else:
        writer.lines.append(
            f"%t = store_view_tko weak {loop}, {views[3][0]}[%x, %y] : {types[2]}, {views[3][1]}, tile<i32> -> token"
        )
    parameters = ", ".join(
        [f"%{name}: tile<ptr<{one}>>" for name, one in zip("abcd", (held, held, accumulator, accumulator), strict=True)]
        + [f"%{name}: tile<i32>" for name in "mnk"]
    )
    body = "\n".join(writer.lines)
    return f"""cuda_tile.module @m {{ entry @product({parameters}) {{
%x, %y, %z = get_tile_block_id : tile<i32>
{body}
return }} }}"""
