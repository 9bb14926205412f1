"""Kernels that multiply matrices through pointers, in the ways in which people write them.

C += A B: a tile block makes a tile of C, on (ceil(m / tile), ceil(n / tile)) tile blocks, with the three arrays, the
extents m, n and k, and the pitches of the arrays.
"""

from __future__ import annotations

Tile = tuple[int, int, int]


class Writer:
    """Lines of a kernel; what makes one gives the name of its result."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def add(self, text: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"{name} = {text}")
        return name

    def spread(self, value: str, element: str, shape: str) -> str:
        """A scalar in all elements of a tile."""
        ones = "x".join(["1"] * len(shape.split("x")))
        one = self.add(f"reshape {value} : tile<{element}> -> tile<{ones}x{element}>")
        return self.add(f"broadcast {one} : tile<{ones}x{element}> -> tile<{shape}x{element}>")

    def numbers(self, first: str, extent: int) -> str:
        """Consecutive numbers from a scalar on."""
        lane = self.add(f"iota : tile<{extent}xi32>")
        firsts = self.spread(first, "i32", str(extent))
        return self.add(f"addi {firsts}, {lane} : tile<{extent}xi32>")

    def turned(self, numbers: str, extent: int, axis: int, shape: str) -> str:
        """Numbers along one of the two dimensions of a tile."""
        thin = f"{extent}x1" if axis == 0 else f"1x{extent}"
        up = self.add(f"reshape {numbers} : tile<{extent}xi32> -> tile<{thin}xi32>")
        return self.add(f"broadcast {up} : tile<{thin}xi32> -> tile<{shape}xi32>")

    def below(self, numbers: str, extent: int, limit: str, axis: int, shape: str) -> str:
        """Where numbers along a dimension are below a scalar, in a tile of two."""
        limits = self.spread(limit, "i32", str(extent))
        thin = f"{extent}x1" if axis == 0 else f"1x{extent}"
        mask = self.add(f"cmpi less_than {numbers}, {limits}, signed : tile<{extent}xi32> -> tile<{extent}xi1>")
        up = self.add(f"reshape {mask} : tile<{extent}xi1> -> tile<{thin}xi1>")
        return self.add(f"broadcast {up} : tile<{thin}xi1> -> tile<{shape}xi1>")

    def places(
        self, base: str, element: str, rows: str, columns: str, extents: tuple[int, int], strides: list[str]
    ) -> str:
        """Pointers to the elements in some rows and columns, which are so far apart."""
        shape = f"{extents[0]}x{extents[1]}"
        total = ""
        for axis, (numbers, stride) in enumerate(zip((rows, columns), strides, strict=True)):
            place = self.turned(numbers, extents[axis], axis, shape)
            if stride:
                far = self.spread(stride, "i32", shape)
                place = self.add(f"muli {place}, {far} : tile<{shape}xi32>")
            total = place if not total else self.add(f"addi {total}, {place} : tile<{shape}xi32>")
        bases = self.spread(base, f"ptr<{element}>", shape)
        pointers = f"tile<{shape}xptr<{element}>>"
        return self.add(f"offset {bases}, {total} : {pointers}, tile<{shape}xi32> -> {pointers}")

    def load(self, pointers: str, element: str, shape: str, mask: str = "", padding: str = "0.0") -> str:
        self.count += 1
        name = f"%v{self.count}"
        types = f"tile<{shape}xptr<{element}>>"
        if not mask:
            self.lines.append(
                f"{name}, {name}.t = load_ptr_tko weak {pointers} : {types} -> tile<{shape}x{element}>, token"
            )
            return name
        other = self.add(f"constant <{element}: {padding}> : tile<{shape}x{element}>")
        self.lines.append(
            f"{name}, {name}.t = load_ptr_tko weak {pointers}, {mask}, {other} : {types}, tile<{shape}xi1>, "
            f"tile<{shape}x{element}> -> tile<{shape}x{element}>, token"
        )
        return name

    def both(self, masks: list[str], shape: str) -> str:
        """Where all of some masks are true."""
        found = ""
        for mask in masks:
            found = mask if not found else self.add(f"andi {found}, {mask} : tile<{shape}xi1>")
        return found


def program(
    tile: Tile,
    element: str = "f32",
    masks: str = "",
    carried: bool = False,
    counts: str = "tiles",
    padding: str = "0.0",
    adds: bool = True,
    before: str = "",
    columns: str = "",
    wraps: bool = False,
    memory: str = "",
    factors: str = "",
) -> str:
    """`masks` are the extents that loads and stores look at, of "mnk"; pointers are `carried` by the loop or computed in
    every iteration; the loop `counts` tiles or elements of k; C is `adds` or zeros before.

    `columns` is how far apart the columns of B are, a scalar, if it is not one element.  With `wraps` A is read from row
    `row % m`, and B from column `column % n`.  `memory` is the element type of A and B, and `factors` what they are
    converted to, if these are not the element type of C.
    """
    memory = memory or element
    factors = factors or memory
    m, n, k = tile
    writer = Writer()
    add = writer.add
    writer.lines.append("%x, %y, %z = get_tile_block_id : tile<i32>")
    writer.lines += [
        f"%size.{name} = constant <i32: {size}> : tile<i32>" for name, size in zip("mnk", tile, strict=True)
    ]
    writer.lines += ["%zero = constant <i32: 0> : tile<i32>", "%one = constant <i32: 1> : tile<i32>"]
    writer.lines += [before]
    top, left = add("muli %x, %size.m : tile<i32>"), add("muli %y, %size.n : tile<i32>")
    rows, across, along = writer.numbers(top, m), writer.numbers(left, n), writer.numbers("%zero", k)
    shapes = {"a": f"{m}x{k}", "b": f"{k}x{n}", "c": f"{m}x{n}"}
    elements = {"a": memory, "b": memory, "c": element}
    types = {x: f"tile<{shape}x{elements[x]}>" for x, shape in shapes.items()}
    pointers = {x: f"tile<{shape}xptr<{elements[x]}>>" for x, shape in shapes.items()}
    from_rows, from_columns = rows, across
    if wraps:
        from_rows, from_columns = (
            add(f"remi {numbers}, {writer.spread(limit, 'i32', str(extent))} signed : tile<{extent}xi32>")
            for numbers, limit, extent in ((rows, "%m", m), (across, "%n", n))
        )
    pa = writer.places("%a", memory, from_rows, along, (m, k), ["%pitch.a", ""])
    pb = writer.places("%b", memory, along, from_columns, (k, n), ["%pitch.b", columns])
    pc = writer.places("%c", element, rows, across, (m, n), ["%pitch.c", ""])
    limits = {
        ("a", "m"): (rows, m, "%m", 0), ("b", "n"): (across, n, "%n", 1),
        ("c", "m"): (rows, m, "%m", 0), ("c", "n"): (across, n, "%n", 1),
    }  # fmt: skip
    fixed: dict[str, list[str]] = {"a": [], "b": [], "c": []}
    for (x, extent), limit in limits.items():
        if extent in masks:
            fixed[x].append(writer.below(*limit, shapes[x]))
    whole = writer.both(fixed["c"], shapes["c"])
    start = writer.load(pc, element, shapes["c"], whole) if adds else add(f"constant <{element}: 0.0> : {types['c']}")
    more = add("addi %k, %size.k : tile<i32>")
    less = add(f"subi {more}, %one : tile<i32>")
    tiles = add(f"divi {less}, %size.k signed : tile<i32>")
    last, step = (tiles, "%one") if counts == "tiles" else ("%k", "%size.k")
    down = add("muli %pitch.b, %size.k : tile<i32>")
    steps = {x: writer.spread(by, "i32", shapes[x]) for x, by in (("a", "%size.k"), ("b", down))}
    held = f"%pa = {pa}, %pb = {pb}, %acc = {start}" if carried else f"%acc = {start}"
    kept = f"{pointers['a']}, {pointers['b']}, {types['c']}" if carried else types["c"]
    results = "%qa, %qb, %sum" if carried else "%sum"
    writer.lines.append(
        f"{results} = for %i in (%zero to {last}, step {step}) : tile<i32> iter_values({held}) -> ({kept}) {{"
    )
    begin = add("muli %i, %size.k : tile<i32>") if counts == "tiles" else "%i"
    now = {"a": "%pa", "b": "%pb"}
    if not carried:
        places = writer.numbers(begin, k)
        now["a"] = writer.places("%a", memory, from_rows, places, (m, k), ["%pitch.a", ""])
        now["b"] = writer.places("%b", memory, places, from_columns, (k, n), ["%pitch.b", columns])
    loaded = {}
    for x, axis in (("a", 1), ("b", 0)):
        found = list(fixed[x])
        if "k" in masks:
            rest = add(f"subi %k, {begin} : tile<i32>")
            found.append(writer.below(along, k, rest, axis, shapes[x]))
        loaded[x] = writer.load(now[x], memory, shapes[x], writer.both(found, shapes[x]), padding)
        if factors != memory:
            loaded[x] = add(f"ftof {loaded[x]} : {types[x]} -> tile<{shapes[x]}x{factors}>")
    left, right = (f"tile<{shapes[x]}x{factors}>" for x in "ab")
    total = add(f"mmaf {loaded['a']}, {loaded['b']}, %acc : {left}, {right}, {types['c']}")
    if carried:
        moved = [
            add(f"offset {now[x]}, {steps[x]} : {pointers[x]}, tile<{shapes[x]}xi32> -> {pointers[x]}") for x in "ab"
        ]
        writer.lines.append(f"continue {moved[0]}, {moved[1]}, {total} : {kept}")
    else:
        writer.lines.append(f"continue {total} : {kept}")
    writer.lines.append("}")
    mask = f", {whole}" if whole else ""
    also = f", tile<{shapes['c']}xi1>" if whole else ""
    writer.lines.append(f"%stored = store_ptr_tko weak {pc}, %sum{mask} : {pointers['c']}, {types['c']}{also} -> token")
    scalars = ", ".join([f"%{name}: tile<i32>" for name in ("m", "n", "k", "pitch.a", "pitch.b", "pitch.c")])
    arrays = ", ".join([f"%{x}: tile<ptr<{elements[x]}>>" for x in "abc"])
    body = "\n".join(writer.lines)
    return f"cuda_tile.module @m {{ entry @k({arrays}, {scalars}) {{\n{body}\nreturn }} }}"
