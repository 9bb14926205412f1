"""Kernels that access memory through pointers, as Tile IR text: `cpu_checked.py` measures what checking them costs."""

from __future__ import annotations


def _module(parameters: str, body: str) -> str:
    return f"cuda_tile.module @benchmark {{ entry @kernel({parameters}) {{\n{body}\nreturn }} }}"


def _spread(name: str, source: str, element: str, shape: str) -> str:
    """A scalar in all elements of a tile."""
    ones = "x".join(["1"] * len(shape.split("x")))
    return (
        f"%{name}.one = reshape {source} : tile<{element}> -> tile<{ones}x{element}>\n"
        f"%{name} = broadcast %{name}.one : tile<{ones}x{element}> -> tile<{shape}x{element}>\n"
    )


def _pointers(name: str, base: str, element: str, index: str, shape: str) -> str:
    """Pointers to the elements of an array at an index."""
    pointers = f"tile<{shape}xptr<{element}>>"
    return (
        _spread(f"{name}.base", base, f"ptr<{element}>", shape)
        + f"%{name} = offset %{name}.base, {index} : {pointers}, tile<{shape}xi32> -> {pointers}\n"
    )


def _load(name: str, element: str, shape: str, mask: str = "") -> str:
    pointers = f"tile<{shape}xptr<{element}>>"
    if not mask:
        return f"%{name}, %{name}.k = load_ptr_tko weak %p{name} : {pointers} -> tile<{shape}x{element}>, token\n"
    types = f"{pointers}, tile<{shape}xi1>, tile<{shape}x{element}> -> tile<{shape}x{element}>, token"
    zero = "0.0" if element.startswith("f") else "0"
    return (
        f"%{name}.none = constant <{element}: {zero}> : tile<{shape}x{element}>\n"
        f"%{name}, %{name}.k = load_ptr_tko weak %p{name}, {mask}, %{name}.none : {types}\n"
    )


def _store(name: str, value: str, element: str, shape: str, mask: str = "") -> str:
    types = f"tile<{shape}xptr<{element}>>, tile<{shape}x{element}>"
    if not mask:
        return f"%{name}.k = store_ptr_tko weak %p{name}, {value} : {types} -> token\n"
    return f"%{name}.k = store_ptr_tko weak %p{name}, {value}, {mask} : {types}, tile<{shape}xi1> -> token\n"


def _places(tile: int) -> str:
    """`%i`: the places of the elements that a tile block has; `%mask`: those below `%n`."""
    return (
        "%x, %y, %z = get_tile_block_id : tile<i32>\n"
        f"%size = constant <i32: {tile}> : tile<i32>\n"
        "%first = muli %x, %size : tile<i32>\n"
        + _spread("firsts", "%first", "i32", str(tile))
        + f"%lane = iota : tile<{tile}xi32>\n%i = addi %firsts, %lane : tile<{tile}xi32>\n"
        + _spread("limit", "%n", "i32", str(tile))
        + f"%mask = cmpi less_than %i, %limit, signed : tile<{tile}xi32> -> tile<{tile}xi1>\n"
    )


def vector_add(tile: int, masked: bool) -> str:
    shape, mask = str(tile), "%mask" if masked else ""
    made = "".join([_pointers(f"p{x}", f"%{x}0", "f32", "%i", shape) for x in "abc"])
    return _module(
        "%a0: tile<ptr<f32>>, %b0: tile<ptr<f32>>, %c0: tile<ptr<f32>>, %n: tile<i32>",
        f"""{_places(tile)}{made}{_load("a", "f32", shape, mask)}{_load("b", "f32", shape, mask)}
        %sum = addf %a, %b : tile<{shape}xf32>
        {_store("c", "%sum", "f32", shape, mask)}""",
    )


def strided(tile: int, step: int) -> str:
    """Every so many elements of an array."""
    shape = str(tile)
    return _module(
        "%a0: tile<ptr<f32>>, %c0: tile<ptr<f32>>, %n: tile<i32>",
        f"""{_places(tile)}
        %step = constant <i32: {step}> : tile<{shape}xi32>
        %j = muli %i, %step : tile<{shape}xi32>
        {_pointers("pa", "%a0", "f32", "%j", shape)}{_pointers("pc", "%c0", "f32", "%i", shape)}
        {_load("a", "f32", shape, "%mask")}{_store("c", "%a", "f32", shape, "%mask")}""",
    )


def gather(tile: int) -> str:
    """c[i] = a[index[i]]"""
    shape = str(tile)
    return _module(
        "%j0: tile<ptr<i32>>, %a0: tile<ptr<f32>>, %c0: tile<ptr<f32>>, %n: tile<i32>",
        f"""{_places(tile)}
        {_pointers("pj", "%j0", "i32", "%i", shape)}{_load("j", "i32", shape, "%mask")}
        {_pointers("pa", "%a0", "f32", "%j", shape)}{_pointers("pc", "%c0", "f32", "%i", shape)}
        {_load("a", "f32", shape, "%mask")}{_store("c", "%a", "f32", shape, "%mask")}""",
    )


def scatter(tile: int) -> str:
    """c[index[i]] = a[i]"""
    shape = str(tile)
    return _module(
        "%j0: tile<ptr<i32>>, %a0: tile<ptr<f32>>, %c0: tile<ptr<f32>>, %n: tile<i32>",
        f"""{_places(tile)}
        {_pointers("pj", "%j0", "i32", "%i", shape)}{_load("j", "i32", shape, "%mask")}
        {_pointers("pa", "%a0", "f32", "%i", shape)}{_pointers("pc", "%c0", "f32", "%j", shape)}
        {_load("a", "f32", shape, "%mask")}{_store("c", "%a", "f32", shape, "%mask")}""",
    )


def histogram(tile: int) -> str:
    """counts[index[i]] += 1"""
    shape = str(tile)
    pointers = f"tile<{shape}xptr<i32>>"
    return _module(
        "%j0: tile<ptr<i32>>, %c0: tile<ptr<i32>>, %n: tile<i32>",
        f"""{_places(tile)}
        {_pointers("pj", "%j0", "i32", "%i", shape)}{_load("j", "i32", shape, "%mask")}
        {_pointers("pc", "%c0", "i32", "%j", shape)}
        %one = constant <i32: 1> : tile<{shape}xi32>
        %old, %k = atomic_rmw_tko relaxed device %pc, add, %one, %mask
          : {pointers}, tile<{shape}xi32>, tile<{shape}xi1> -> tile<{shape}xi32>, token""",
    )


def softmax(tile: int) -> str:
    """A row for each tile block, of any length up to the tile's."""
    shape = str(tile)
    part, row = f"tile<{shape}xf32>", "tile<f32>"

    def reduced(name: str, source: str, operation: str, identity: str) -> str:
        return f"""%{name}.row = reduce %{source} dim=0 identities=[{identity} : f32] : {part} -> {row}
          (%{name}.l: tile<f32>, %{name}.r: tile<f32>) {{
            %{name}.v = {operation} %{name}.l, %{name}.r : tile<f32>
            yield %{name}.v : tile<f32>
          }}
        {_spread(name, f"%{name}.row", "f32", shape)}"""

    return _module(
        "%a0: tile<ptr<f32>>, %c0: tile<ptr<f32>>, %n: tile<i32>",
        f"""%x, %y, %z = get_tile_block_id : tile<i32>
        %first = muli %x, %n : tile<i32>
        {_spread("firsts", "%first", "i32", shape)}{_spread("limit", "%n", "i32", shape)}
        %lane = iota : tile<{shape}xi32>
        %mask = cmpi less_than %lane, %limit, signed : tile<{shape}xi32> -> tile<{shape}xi1>
        %i = addi %firsts, %lane : tile<{shape}xi32>
        {_pointers("pa", "%a0", "f32", "%i", shape)}{_pointers("pc", "%c0", "f32", "%i", shape)}
        %low = constant <f32: 0xFF800000> : {part}
        %a, %ka = load_ptr_tko weak %pa, %mask, %low
          : tile<{shape}xptr<f32>>, tile<{shape}xi1>, {part} -> {part}, token
        {reduced("high", "a", "maxf", "0xFF800000")}
        %d = subf %a, %high : {part}
        %e = exp %d : {part}
        {reduced("sum", "e", "addf", "0.0")}
        %r = divf %e, %sum : {part}
        {_store("c", "%r", "f32", shape, "%mask")}""",
    )


def matmul(tile: int) -> str:
    """Square matrices of whole tiles; the pointers are carried by the loop over k."""
    shape = f"{tile}x{tile}"
    part, pointers, index = f"tile<{shape}xf32>", f"tile<{shape}xptr<f32>>", f"tile<{shape}xi32>"

    def rows(name: str, first: str, across: str) -> str:
        """Places of a tile: rows from one number on, columns from another."""
        return f"""%{name}.r = addi {first}, %lane : tile<{tile}xi32>
        %{name}.r1 = reshape %{name}.r : tile<{tile}xi32> -> tile<{tile}x1xi32>
        %{name}.r2 = broadcast %{name}.r1 : tile<{tile}x1xi32> -> {index}
        %{name}.p = muli %{name}.r2, %pitch : {index}
        %{name}.c = addi {across}, %lane : tile<{tile}xi32>
        %{name}.c1 = reshape %{name}.c : tile<{tile}xi32> -> tile<1x{tile}xi32>
        %{name}.c2 = broadcast %{name}.c1 : tile<1x{tile}xi32> -> {index}
        %{name} = addi %{name}.p, %{name}.c2 : {index}
        """

    return _module(
        "%a0: tile<ptr<f32>>, %b0: tile<ptr<f32>>, %c0: tile<ptr<f32>>, %n: tile<i32>",
        f"""%x, %y, %z = get_tile_block_id : tile<i32>
        %size = constant <i32: {tile}> : tile<i32>
        %lane = iota : tile<{tile}xi32>
        %none = constant <i32: 0> : tile<{tile}xi32>
        %top = muli %x, %size : tile<i32>
        %left = muli %y, %size : tile<i32>
        {_spread("tops", "%top", "i32", str(tile))}{_spread("lefts", "%left", "i32", str(tile))}
        {_spread("pitch", "%n", "i32", shape)}
        {rows("ia", "%tops", "%none")}{rows("ib", "%none", "%lefts")}{rows("ic", "%tops", "%lefts")}
        {_pointers("pa", "%a0", "f32", "%ia", shape)}{_pointers("pb", "%b0", "f32", "%ib", shape)}
        {_pointers("pc", "%c0", "f32", "%ic", shape)}
        %right = constant <i32: {tile}> : {index}
        %down = muli %pitch, %right : {index}
        %zero = constant <i32: 0> : tile<i32>
        %empty = constant <f32: 0.0> : {part}
        %qa, %qb, %sum = for %k in (%zero to %n, step %size) : tile<i32>
            iter_values(%ra = %pa, %rb = %pb, %acc = %empty) -> ({pointers}, {pointers}, {part}) {{
          %l, %lk = load_ptr_tko weak %ra : {pointers} -> {part}, token
          %r, %rk = load_ptr_tko weak %rb : {pointers} -> {part}, token
          %more = mmaf %l, %r, %acc : {part}, {part}, {part}
          %na = offset %ra, %right : {pointers}, {index} -> {pointers}
          %nb = offset %rb, %down : {pointers}, {index} -> {pointers}
          continue %na, %nb, %more : {pointers}, {pointers}, {part}
        }}
        {_store("c", "%sum", "f32", shape)}""",
    )
