"""Kernels that multiply matrices in the ways in which people write them, as Tile IR text (`matmul_programs.py`).

All multiply an m x k by a k x n matrix, on a grid of tile blocks that make a tile of C each; extents are multiples of
the tiles'.  The parameters are the arrays, then m, n and k.
"""

from __future__ import annotations

Tile = tuple[int, int, int]


def _tensor(name: str, rows: str, columns: str, tile: str, element: str = "f32") -> tuple[str, str]:
    """Lines that make the view `%v<name>` of a matrix, and its type."""
    tensor = f"tensor_view<?x?x{element}, strides=[?,1]>"
    view = f"partition_view<tile=({tile}), padding_value = zero, {tensor}>"
    made = (
        f"%t{name} = make_tensor_view %{name}, shape = [{rows}, {columns}], strides = [{columns}, 1]"
        f" : tile<i32> -> {tensor}\n%v{name} = make_partition_view %t{name} : {view}\n"
    )
    return made, view


class Product:
    """The text of one kernel, from parts that kinds of them have in common."""

    def __init__(self, tile: Tile, elements: dict[str, str] | None = None) -> None:
        self.m, self.n, self.k = tile
        self.elements = {"a": "f32", "b": "f32", "c": "f32"} | (elements or {})
        self.lines: list[str] = ["%i0, %j0, %z0 = get_tile_block_id : tile<i32>"]
        self.lines += [f"%n{number} = constant <i32: {number}> : tile<i32>" for number in (0, 1, 8)]
        self.lines += [
            f"%size.{name} = constant <i32: {size}> : tile<i32>" for name, size in zip("mnk", tile, strict=True)
        ]
        self.views: dict[str, str] = {}

    @property
    def part(self) -> str:
        return f"tile<{self.m}x{self.n}xf32>"

    def matrix(self, name: str, rows: str, columns: str, tile: str) -> None:
        made, self.views[name] = _tensor(name, rows, columns, tile, self.elements.get(name, "f32"))
        self.lines.append(made)

    def load(self, name: str, result: str, row: str, column: str, shape: str) -> str:
        element = self.elements.get(name, "f32")
        return (
            f"%{result}, %{result}.t = load_view_tko weak %v{name}[{row}, {column}] : {self.views[name]}, tile<i32> -> "
            f"tile<{shape}x{element}>, token"
        )

    def loop(self, body: str, first: str = "%n0", last: str = "%count") -> None:
        """The sum over the tiles of k, from tiles `%x` and `%y` that the body loads."""
        shapes = {"a": f"{self.m}x{self.k}", "b": f"{self.k}x{self.n}"}
        left, right = (f"tile<{shape}x{self.elements[name]}>" for name, shape in shapes.items())
        self.lines.append(f"""%count = divi %k, %size.k signed : tile<i32>
        %empty = constant <f32: 0.0> : {self.part}
        %sum = for %s in ({first} to {last}, step %n1) : tile<i32> iter_values(%acc = %empty) -> ({self.part}) {{
          {body}
          %r = mmaf %x, %y, %acc : {left}, {right}, {self.part}
          continue %r : {self.part}
        }}""")

    def store(self, value: str = "%sum", row: str = "%i", column: str = "%j") -> None:
        self.matrix("c", "%m", "%n", f"{self.m}x{self.n}")
        part = f"tile<{self.m}x{self.n}x{self.elements['c']}>"
        types = f"{part}, {self.views['c']}, tile<i32> -> token"
        self.lines.append(f"%stored = store_view_tko weak {value}, %vc[{row}, {column}] : {types}")

    def plain(self) -> str:
        """Views of both operands, and what a turn loads of them."""
        self.matrix("a", "%m", "%k", f"{self.m}x{self.k}")
        self.matrix("b", "%k", "%n", f"{self.k}x{self.n}")
        return (
            self.load("a", "x", "%i", "%s", f"{self.m}x{self.k}")
            + "\n"
            + self.load("b", "y", "%s", "%j", f"{self.k}x{self.n}")
        )

    def here(self) -> None:
        self.lines[0] = "%i, %j, %z0 = get_tile_block_id : tile<i32>"

    def text(self, arrays: str = "abc") -> str:
        listed = ", ".join([f"%{name}: tile<ptr<{self.elements.get(name, 'f32')}>>" for name in arrays])
        body = "\n".join(self.lines)
        return (
            f"cuda_tile.module @benchmark {{ entry @kernel({listed}, %m: tile<i32>, %n: tile<i32>, %k: tile<i32>) {{\n"
            f"{body}\nreturn }} }}"
        )


def views(tile: Tile) -> str:
    made = Product(tile)
    made.here()
    made.loop(made.plain())
    made.store()
    return made.text()


def swizzled(tile: Tile, element: str = "f32") -> str:
    """Tile blocks are numbered along one dimension; groups of eight rows of them go through all columns."""
    made = Product(tile, dict.fromkeys("abc", element))
    made.lines.append("""%high = divi %m, %size.m signed : tile<i32>
      %wide = divi %n, %size.n signed : tile<i32>
      %each = muli %wide, %n8 : tile<i32>
      %group = divi %i0, %each signed : tile<i32>
      %top = muli %group, %n8 : tile<i32>
      %left = subi %high, %top : tile<i32>
      %rows = mini %left, %n8 signed : tile<i32>
      %within = remi %i0, %each signed : tile<i32>
      %down = remi %within, %rows signed : tile<i32>
      %i = addi %top, %down : tile<i32>
      %j = divi %within, %rows signed : tile<i32>""")
    made.loop(made.plain())
    value = "%sum"
    if element != "f32":
        value = "%result"
        made.lines.append(f"%result = ftof %sum : {made.part} -> tile<{made.m}x{made.n}x{element}>")
    made.store(value)
    return made.text()


def _spread_row(made: Product, name: str) -> str:
    """A row of numbers, one for each column, in all rows of a tile."""
    m, n = made.m, made.n
    tensor = "tensor_view<?xf32, strides=[1]>"
    view = f"partition_view<tile=({n}), {tensor}>"
    made.lines.append(f"""%row.t = make_tensor_view %{name}, shape = [%n], strides = [1] : tile<i32> -> {tensor}
      %row.v = make_partition_view %row.t : {view}
      %row.x, %row.k = load_view_tko weak %row.v[%j] : {view}, tile<i32> -> tile<{n}xf32>, token
      %row.1 = reshape %row.x : tile<{n}xf32> -> tile<1x{n}xf32>
      %row = broadcast %row.1 : tile<1x{n}xf32> -> tile<{m}x{n}xf32>""")
    return "%row"


def bias_relu(tile: Tile) -> str:
    made = Product(tile)
    made.here()
    made.loop(made.plain())
    row = _spread_row(made, "bias")
    made.lines.append(f"""%more = addf %sum, {row} : {made.part}
      %result = maxf %more, %empty : {made.part}""")
    made.store("%result")
    return made.text().replace("%c: tile<ptr<f32>>,", "%c: tile<ptr<f32>>, %bias: tile<ptr<f32>>,")


def scaled(tile: Tile) -> str:
    """C = C + A B / 8"""
    made = Product(tile)
    made.here()
    made.loop(made.plain())
    made.matrix("c", "%m", "%n", f"{made.m}x{made.n}")
    made.lines.append(made.load("c", "old", "%i", "%j", f"{made.m}x{made.n}"))
    made.lines.append(f"""%eighth = constant <f32: 0.125> : {made.part}
      %less = mulf %sum, %eighth : {made.part}
      %result = addf %less, %old : {made.part}
      %stored = store_view_tko weak %result, %vc[%i, %j] : {made.part}, {made.views["c"]}, tile<i32> -> token""")
    return made.text()


def converted(tile: Tile) -> str:
    """f16 in memory, converted to f32."""
    made = Product(tile, {"a": "f16", "b": "f16"})
    made.here()
    loads = made.plain().replace("%x, %x.t", "%x.h, %x.t").replace("%y, %y.t", "%y.h, %y.t")
    made.loop(f"""{loads}
      %x = ftof %x.h : tile<{made.m}x{made.k}xf16> -> tile<{made.m}x{made.k}xf32>
      %y = ftof %y.h : tile<{made.k}x{made.n}xf16> -> tile<{made.k}x{made.n}xf32>""")
    made.store()
    return made.text()


def turned(tile: Tile, which: str) -> str:
    """One of the operands lies in memory as its transpose, and is permuted."""
    made = Product(tile)
    made.here()
    m, n, k = tile
    loads = []
    for name, result, sizes, places, (rows, columns) in (
        ("a", "x", ("%m", "%k"), ("%i", "%s"), (m, k)),
        ("b", "y", ("%k", "%n"), ("%s", "%j"), (k, n)),
    ):
        if name != which:
            made.matrix(name, *sizes, f"{rows}x{columns}")
            loads.append(made.load(name, result, *places, f"{rows}x{columns}"))
            continue
        made.matrix(name, *sizes[::-1], f"{columns}x{rows}")
        loads.append(made.load(name, f"{result}.0", *places[::-1], f"{columns}x{rows}"))
        types = f"tile<{columns}x{rows}xf32> -> tile<{rows}x{columns}xf32>"
        loads.append(f"%{result} = permute %{result}.0 [1, 0] : {types}")
    made.loop("\n".join(loads))
    made.store()
    return made.text()


def twice(tile: Tile) -> str:
    """Two products of the same left operand in one loop, added at last."""
    made = Product(tile)
    made.here()
    loads = made.plain()
    made.matrix("e", "%k", "%n", f"{made.k}x{made.n}")
    left, right = f"tile<{made.m}x{made.k}xf32>", f"tile<{made.k}x{made.n}xf32>"
    other = made.load("e", "w", "%s", "%j", f"{made.k}x{made.n}")
    made.lines.append(f"""%count = divi %k, %size.k signed : tile<i32>
      %empty = constant <f32: 0.0> : {made.part}
      %sum1, %sum2 = for %s in (%n0 to %count, step %n1) : tile<i32>
          iter_values(%acc = %empty, %acc2 = %empty) -> ({made.part}, {made.part}) {{
        {loads}
        {other}
        %r = mmaf %x, %y, %acc : {left}, {right}, {made.part}
        %q = mmaf %x, %w, %acc2 : {left}, {right}, {made.part}
        continue %r, %q : {made.part}, {made.part}
      }}
      %sum = addf %sum1, %sum2 : {made.part}""")
    made.store()
    return made.text("abec")


def split(tile: Tile) -> str:
    """A quarter of k for each tile block; the parts are added in memory."""
    made = Product(tile)
    made.here()
    made.lines.append("""%four = constant <i32: 4> : tile<i32>
      %tiles = divi %k, %size.k signed : tile<i32>
      %quarter = divi %tiles, %four signed : tile<i32>
      %from = muli %z0, %quarter : tile<i32>
      %to = addi %from, %quarter : tile<i32>""")
    made.loop(made.plain(), "%from", "%to")
    m, n = made.m, made.n
    made.lines.append(f"""%rows = iota : tile<{m}xi32>
      %rows.1 = reshape %rows : tile<{m}xi32> -> tile<{m}x1xi32>
      %rows.2 = broadcast %rows.1 : tile<{m}x1xi32> -> tile<{m}x{n}xi32>
      %columns = iota : tile<{n}xi32>
      %columns.1 = reshape %columns : tile<{n}xi32> -> tile<1x{n}xi32>
      %columns.2 = broadcast %columns.1 : tile<1x{n}xi32> -> tile<{m}x{n}xi32>
      %pitch.1 = reshape %n : tile<i32> -> tile<1x1xi32>
      %pitch = broadcast %pitch.1 : tile<1x1xi32> -> tile<{m}x{n}xi32>
      %far = muli %rows.2, %pitch : tile<{m}x{n}xi32>
      %place = addi %far, %columns.2 : tile<{m}x{n}xi32>
      %top = muli %i, %size.m : tile<i32>
      %down = muli %top, %n : tile<i32>
      %left = muli %j, %size.n : tile<i32>
      %start = addi %down, %left : tile<i32>
      %c.here = offset %c, %start : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %c.1 = reshape %c.here : tile<ptr<f32>> -> tile<1x1xptr<f32>>
      %c.2 = broadcast %c.1 : tile<1x1xptr<f32>> -> tile<{m}x{n}xptr<f32>>
      %pc = offset %c.2, %place : tile<{m}x{n}xptr<f32>>, tile<{m}x{n}xi32> -> tile<{m}x{n}xptr<f32>>
      %old, %tc = atomic_rmw_tko relaxed device %pc, addf, %sum
        : tile<{m}x{n}xptr<f32>>, tile<{m}x{n}xf32> -> tile<{m}x{n}xf32>, token""")
    return made.text()


def batched(tile: Tile) -> str:
    """Many products, one for each number along the third dimension of the grid; their tiles have a batch of one."""
    m, n, k = tile
    shapes = {"a": ("%m", "%k", m, k), "b": ("%k", "%n", k, n), "c": ("%m", "%n", m, n)}
    lines, views = [], {}
    tensor = "tensor_view<?x?x?xf32, strides=[?,?,1]>"
    for name, (rows, columns, high, wide) in shapes.items():
        views[name] = f"partition_view<tile=(1x{high}x{wide}), padding_value = zero, {tensor}>"
        lines.append(f"""%far.{name} = muli {rows}, {columns} : tile<i32>
          %t{name} = make_tensor_view %{name}, shape = [%count.z, {rows}, {columns}],
            strides = [%far.{name}, {columns}, 1] : tile<i32> -> {tensor}
          %v{name} = make_partition_view %t{name} : {views[name]}""")
    made = "\n".join(lines)
    part = f"tile<{m}x{n}xf32>"
    return f"""cuda_tile.module @benchmark {{ entry @kernel(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>,
        %m: tile<i32>, %n: tile<i32>, %k: tile<i32>) {{
      %i, %j, %z = get_tile_block_id : tile<i32>
      %count.x, %count.y, %count.z = get_num_tile_blocks : tile<i32>
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %size.k = constant <i32: {k}> : tile<i32>
      {made}
      %count = divi %k, %size.k signed : tile<i32>
      %empty = constant <f32: 0.0> : {part}
      %sum = for %s in (%zero to %count, step %one) : tile<i32> iter_values(%acc = %empty) -> ({part}) {{
        %x0, %x.t = load_view_tko weak %va[%z, %i, %s] : {views["a"]}, tile<i32> -> tile<1x{m}x{k}xf32>, token
        %y0, %y.t = load_view_tko weak %vb[%z, %s, %j] : {views["b"]}, tile<i32> -> tile<1x{k}x{n}xf32>, token
        %x = reshape %x0 : tile<1x{m}x{k}xf32> -> tile<{m}x{k}xf32>
        %y = reshape %y0 : tile<1x{k}x{n}xf32> -> tile<{k}x{n}xf32>
        %r = mmaf %x, %y, %acc : tile<{m}x{k}xf32>, tile<{k}x{n}xf32>, {part}
        continue %r : {part}
      }}
      %w = reshape %sum : {part} -> tile<1x{m}x{n}xf32>
      %stored = store_view_tko weak %w, %vc[%z, %i, %j] : tile<1x{m}x{n}xf32>, {views["c"]}, tile<i32> -> token
      return
    }} }}"""


def pointers(tile: Tile, masked: bool = True) -> str:
    """Tiles of pointers that every turn computes: base, row times pitch and column; masks look at all extents."""
    m, n, k = tile
    made = Product(tile)
    made.here()
    lines = made.lines

    def numbers(name: str, first: str, extent: int) -> None:
        lines.append(f"""%{name}.1 = reshape {first} : tile<i32> -> tile<1xi32>
          %{name}.2 = broadcast %{name}.1 : tile<1xi32> -> tile<{extent}xi32>
          %{name}.3 = iota : tile<{extent}xi32>
          %{name} = addi %{name}.2, %{name}.3 : tile<{extent}xi32>""")

    def spread(name: str, source: str, extent: int, axis: int, shape: str, element: str = "i32") -> None:
        thin = f"{extent}x1" if axis == 0 else f"1x{extent}"
        lines.append(f"""%{name}.1 = reshape {source} : tile<{extent}x{element}> -> tile<{thin}x{element}>
          %{name} = broadcast %{name}.1 : tile<{thin}x{element}> -> tile<{shape}x{element}>""")

    def filled(name: str, source: str, shape: str, element: str = "i32") -> None:
        lines.append(f"""%{name}.1 = reshape {source} : tile<{element}> -> tile<1x1x{element}>
          %{name} = broadcast %{name}.1 : tile<1x1x{element}> -> tile<{shape}x{element}>""")

    def places(
        name: str, rows: str, columns: str, extents: tuple[int, int], pitch: str, limits: tuple[str, str]
    ) -> None:
        """`%p<name>`, and `%q<name>` where it is in the matrix."""
        shape = f"{extents[0]}x{extents[1]}"
        spread(f"{name}.r", rows, extents[0], 0, shape)
        spread(f"{name}.c", columns, extents[1], 1, shape)
        filled(f"{name}.f", pitch, shape)
        filled(f"{name}.b", f"%{name}", shape, "ptr<f32>")
        filled(f"{name}.h", limits[0], shape)
        filled(f"{name}.w", limits[1], shape)
        index, pointer = f"tile<{shape}xi32>", f"tile<{shape}xptr<f32>>"
        lines.append(f"""%{name}.d = muli %{name}.r, %{name}.f : {index}
          %{name}.i = addi %{name}.d, %{name}.c : {index}
          %p{name} = offset %{name}.b, %{name}.i : {pointer}, {index} -> {pointer}
          %{name}.y = cmpi less_than %{name}.r, %{name}.h, signed : {index} -> tile<{shape}xi1>
          %{name}.x = cmpi less_than %{name}.c, %{name}.w, signed : {index} -> tile<{shape}xi1>
          %q{name} = andi %{name}.y, %{name}.x : tile<{shape}xi1>""")

    def load(name: str, result: str, shape: str) -> None:
        types = f"tile<{shape}xptr<f32>>"
        mask = ""
        if masked:
            lines.append(f"%{result}.none = constant <f32: 0.0> : tile<{shape}xf32>")
            mask = f", %q{name}, %{result}.none"
            types += f", tile<{shape}xi1>, tile<{shape}xf32>"
        lines.append(f"%{result}, %{result}.t = load_ptr_tko weak %p{name}{mask} : {types} -> tile<{shape}xf32>, token")

    lines += ["%top = muli %i, %size.m : tile<i32>", "%left = muli %j, %size.n : tile<i32>"]
    numbers("rows", "%top", m)
    numbers("columns", "%left", n)
    places("c", "%rows", "%columns", (m, n), "%n", ("%m", "%n"))
    lines.append(f"""%empty = constant <f32: 0.0> : {made.part}
      %sum = for %s in (%n0 to %k, step %size.k) : tile<i32> iter_values(%acc = %empty) -> ({made.part}) {{""")
    numbers("along", "%s", k)
    places("a", "%rows", "%along", (m, k), "%k", ("%m", "%k"))
    places("b", "%along", "%columns", (k, n), "%n", ("%k", "%n"))
    load("a", "x", f"{m}x{k}")
    load("b", "y", f"{k}x{n}")
    lines.append(f"""%r = mmaf %x, %y, %acc : tile<{m}x{k}xf32>, tile<{k}x{n}xf32>, {made.part}
        continue %r : {made.part}
      }}
      %stored = store_ptr_tko weak %pc, %sum{", %qc" if masked else ""}
        : tile<{m}x{n}xptr<f32>>, {made.part}{f", tile<{m}x{n}xi1>" if masked else ""} -> token""")
    return made.text()
