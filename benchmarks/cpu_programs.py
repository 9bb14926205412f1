"""The kernels that `cpu_speed.py` measures, as Tile IR text."""

from __future__ import annotations

import math


def _module(parameters: str, body: str) -> str:
    return f"cuda_tile.module @benchmark {{ entry @kernel({parameters}) {{\n{body}\nreturn }} }}"


def _views(names: str, tensor: str, view: str, shape: str, strides: str) -> str:
    return "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [{shape}], strides = [{strides}] : {tensor}\n"
        f"%v{x} = make_partition_view %t{x} : {view}\n"
        for x in names
    )


# --- one element after another ---


def _elementwise(tile: int, body: str) -> str:
    """`%r` of `%a` and `%b`, for vectors of any length: a tile for each tile block."""
    tensor = "tensor_view<?xf32, strides=[1]>"
    view = f"partition_view<tile=({tile}), padding_value = zero, {tensor}>"
    part = f"tile<{tile}xf32>"
    views = "".join(
        f"%t{x} = make_tensor_view %p{x}, shape = [%n], strides = [1] : tile<i32> -> {tensor}\n"
        f"%v{x} = make_partition_view %t{x} : {view}\n"
        for x in "abc"
    )
    pointers = ", ".join([f"%p{x}: tile<ptr<f32>>" for x in "abc"])
    return _module(
        f"{pointers}, %n: tile<i32>",
        f"""%x, %y, %z = get_tile_block_id : tile<i32>
        {views}
        %a, %ta1 = load_view_tko weak %va[%x] : {view}, tile<i32> -> {part}, token
        %b, %tb1 = load_view_tko weak %vb[%x] : {view}, tile<i32> -> {part}, token
        {body.replace("TILE", part)}
        %s = store_view_tko weak %r, %vc[%x] : {part}, {view}, tile<i32> -> token""",
    )


def vector_add(tile: int) -> str:
    return _elementwise(tile, "%r = addf %a, %b : TILE")


def elementwise_chain(tile: int) -> str:
    """Seven operations: s = a b + a, then s / (1 + exp(-s)) b."""
    return _elementwise(
        tile,
        """%m = mulf %a, %b : TILE
        %s1 = addf %m, %a : TILE
        %neg = negf %s1 : TILE
        %e = exp %neg : TILE
        %one = constant <f32: 1.0> : TILE
        %d = addf %e, %one : TILE
        %q = divf %s1, %d : TILE
        %r = mulf %q, %b : TILE""",
    )


def long_chain(operations: int) -> str:
    """A kernel of so many operations that depend on each other."""
    names = ["b", "b", "a", *[f"v{number}" for number in range(1, operations)]]
    steps = [
        f"%v{number} = {'addf' if number % 2 else 'mulf'} %{names[number + 1]}, %{names[number - 1]} : TILE"
        for number in range(1, operations)
    ]
    last = f"%r = addf %v{operations - 1}, %a : TILE"
    return _elementwise(1024, "\n".join([*steps, last]))


# --- rows ---


def _rows(size: int, body: str) -> str:
    """`%r` of `%a`, a row of a square matrix for each tile block."""
    tensor = f"tensor_view<{size}x{size}xf32, strides=[{size},1]>"
    view = f"partition_view<tile=(1x{size}), {tensor}>"
    part = f"tile<1x{size}xf32>"
    return _module(
        "%p: tile<ptr<f32>>, %q: tile<ptr<f32>>",
        f"""%x, %y, %z = get_tile_block_id : tile<i32>
        %zero = constant <i32: 0> : tile<i32>
        {_views("pq", tensor, view, f"{size}, {size}", f"{size}, 1")}
        %a, %t1 = load_view_tko weak %vp[%x, %zero] : {view}, tile<i32> -> {part}, token
        {body.replace("TILE", part)}
        %s = store_view_tko weak %r, %vq[%x, %zero] : {part}, {view}, tile<i32> -> token""",
    )


def _reduced(name: str, source: str, operation: str, identity: str, extent: str = "1") -> str:
    """One number for each row, as a column."""
    return f"""%{name}.row = reduce %{source} dim=1 identities=[{identity} : f32] : TILE -> tile<{extent}xf32>
          (%left: tile<f32>, %right: tile<f32>) {{
            %both = {operation} %left, %right : tile<f32>
            yield %both : tile<f32>
          }}
        %{name} = reshape %{name}.row : tile<{extent}xf32> -> tile<{extent}x1xf32>
"""


def softmax(size: int) -> str:
    return _rows(
        size,
        f"""{_reduced("m", "a", "maxf", "0xFF800000")}
        %mb = broadcast %m : tile<1x1xf32> -> TILE
        %d = subf %a, %mb : TILE
        %e = exp %d : TILE
        {_reduced("sum", "e", "addf", "0.0")}
        %sb = broadcast %sum : tile<1x1xf32> -> TILE
        %r = divf %e, %sb : TILE""",
    )


def layer_norm(size: int) -> str:
    return _rows(
        size,
        f"""{_reduced("sum", "a", "addf", "0.0")}
        %part = constant <f32: {1 / size}> : tile<1x1xf32>
        %mean = mulf %sum, %part : tile<1x1xf32>
        %mb = broadcast %mean : tile<1x1xf32> -> TILE
        %d = subf %a, %mb : TILE
        %squares = mulf %d, %d : TILE
        {_reduced("total", "squares", "addf", "0.0")}
        %variance = mulf %total, %part : tile<1x1xf32>
        %epsilon = constant <f32: 1.0e-5> : tile<1x1xf32>
        %more = addf %variance, %epsilon : tile<1x1xf32>
        %factor = rsqrt %more : tile<1x1xf32>
        %fb = broadcast %factor : tile<1x1xf32> -> TILE
        %r = mulf %d, %fb : TILE""",
    )


# --- matrix products ---


def matmul(tile: tuple[int, int, int], element: str = "f32", turned: bool = False) -> str:
    """Matrices of any extents, with f32 results (f64 of f64); rows are as far apart as the pitches say.

    B `turned` lies in memory as its transpose.
    """
    m, n, k = tile
    result = element if element == "f64" else "f32"
    tensors = {x: f"tensor_view<?x?x{element if x != 'c' else result}, strides=[?,1]>" for x in "abc"}
    shapes = {"a": ("m", "k"), "b": ("n", "k") if turned else ("k", "n"), "c": ("m", "n")}
    tiles = {"a": f"{m}x{k}", "b": f"{k}x{n}", "c": f"{m}x{n}"}
    views = {x: f"partition_view<tile=({tiles[x]}), padding_value = zero, {tensors[x]}>" for x in "abc"}
    if turned:
        views["b"] = views["b"].replace(">>", ">, dim_map=[1, 0]>")
    made = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [%{rows}, %{columns}], strides = [%pitch.{columns}, 1]"
        f" : tile<i32> -> {tensors[x]}\n%v{x} = make_partition_view %t{x} : {views[x]}\n"
        for x, (rows, columns) in shapes.items()
    )
    left, right, part = f"tile<{m}x{k}x{element}>", f"tile<{k}x{n}x{element}>", f"tile<{m}x{n}x{result}>"
    return _module(
        f"%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>, %c: tile<ptr<{result}>>, %m: tile<i32>, %n: tile<i32>,"
        " %k: tile<i32>, %pitch.n: tile<i32>, %pitch.k: tile<i32>",
        f"""%i, %j, %z = get_tile_block_id : tile<i32>
        {made}
        %zero = constant <i32: 0> : tile<i32>
        %one = constant <i32: 1> : tile<i32>
        %rows, %count = get_index_space_shape %va : {views["a"]} -> tile<i32>
        %empty = constant <{result}: 0.0> : {part}
        %sum = for %step in (%zero to %count, step %one) : tile<i32> iter_values(%acc = %empty) -> ({part}) {{
          %x, %tx = load_view_tko weak %va[%i, %step] : {views["a"]}, tile<i32> -> {left}, token
          %y, %ty = load_view_tko weak %vb[%step, %j] : {views["b"]}, tile<i32> -> {right}, token
          %r = mmaf %x, %y, %acc : {left}, {right}, {part}
          continue %r : {part}
        }}
        %s = store_view_tko weak %sum, %vc[%i, %j] : {part}, {views["c"]}, tile<i32> -> token""",
    )


def attention(
    heads: int, length: int, width: int, rows: int, columns: int, element: str = "f32", causal: bool = False
) -> str:
    """Flash attention: softmax(q k^T / sqrt(width)) v, a block of rows of a head for each tile block.

    `causal` leaves out the keys that come after a query: blocks of them altogether, others by a mask.
    """
    strides = f"{length * width}, {width}, 1"
    shape = f"{heads}, {length}, {width}"
    tensor = f"tensor_view<{heads}x{length}x{width}x{element}, strides=[{strides}]>"
    views = {
        "q": f"partition_view<tile=(1x{rows}x{width}), {tensor}>",
        "k": f"partition_view<tile=(1x{width}x{columns}), {tensor}, dim_map=[0, 2, 1]>",
        "v": f"partition_view<tile=(1x{columns}x{width}), {tensor}>",
        "o": f"partition_view<tile=(1x{rows}x{width}), {tensor}>",
    }
    made = "".join([_views(x, tensor, view, shape, strides) for x, view in views.items()])
    block = {"q": f"tile<1x{rows}x{width}x{element}>", "k": f"tile<1x{width}x{columns}x{element}>"}
    block["v"] = f"tile<1x{columns}x{width}x{element}>"
    scores, part, column = f"tile<{rows}x{columns}xf32>", f"tile<{rows}x{width}xf32>", f"tile<{rows}x1xf32>"
    left, right = f"tile<{rows}x{width}x{element}>", f"tile<{width}x{columns}x{element}>"
    weights, values = f"tile<{rows}x{columns}x{element}>", f"tile<{columns}x{width}x{element}>"
    largest = _reduced("high", "score", "maxf", "0xFF800000", str(rows)).replace("TILE", scores)
    total = _reduced("more", "p", "addf", "0.0", str(rows)).replace("TILE", scores)
    pointers = ", ".join([f"%{x}: tile<ptr<{element}>>" for x in views])
    exact = element == "f32"
    weight = "%p" if exact else "%pn"
    count = f"%count = constant <i32: {length // columns}> : tile<i32>"
    if causal:
        count = f"""%height = constant <i32: {rows}> : tile<i32>
        %pace = constant <i32: {columns}> : tile<i32>
        %next = addi %x, %one : tile<i32>
        %end = muli %next, %height : tile<i32>
        %count = divi %end, %pace signed rounding<positive_inf> : tile<i32>
        %start = muli %x, %height : tile<i32>
        %lane = iota : tile<{columns}xi32>
        %across = reshape %lane : tile<{columns}xi32> -> tile<1x{columns}xi32>
        %line = iota : tile<{rows}xi32>
        %down = reshape %line : tile<{rows}xi32> -> tile<{rows}x1xi32>
        %never = constant <f32: 0xFF800000> : {scores}"""
    return _module(
        pointers,
        f"""%x, %h, %z = get_tile_block_id : tile<i32>
        {made}
        %zero = constant <i32: 0> : tile<i32>
        %one = constant <i32: 1> : tile<i32>
        {count}
        %q3, %tq1 = load_view_tko weak %vq[%h, %x, %zero] : {views["q"]}, tile<i32> -> {block["q"]}, token
        %q2 = reshape %q3 : {block["q"]} -> {left}
        %scale = constant <f32: {math.log2(math.e) / math.sqrt(width)}> : {scores}
        %no.scores = constant <f32: 0.0> : {scores}
        %nothing = constant <f32: 0.0> : {part}
        %lowest = constant <f32: -1.0e30> : {column}
        %none = constant <f32: 0.0> : {column}
        %m, %l, %o2 = for %j in (%zero to %count, step %one) : tile<i32>
            iter_values(%m0 = %lowest, %l0 = %none, %o0 = %nothing) -> ({column}, {column}, {part}) {{
          %k3, %tk1 = load_view_tko weak %vk[%h, %zero, %j] : {views["k"]}, tile<i32> -> {block["k"]}, token
          %k2 = reshape %k3 : {block["k"]} -> {right}
          %s = mmaf %q2, %k2, %no.scores : {left}, {right}, {scores}
          {"%scaled" if causal else "%score"} = mulf %s, %scale : {scores}
          {_masked(rows, columns) if causal else ""}
          {largest}
          %m1 = maxf %m0, %high : {column}
          %mb = broadcast %m1 : {column} -> {scores}
          %d = subf %score, %mb : {scores}
          %p = exp2 %d : {scores}
          %dm = subf %m0, %m1 : {column}
          %fade = exp2 %dm : {column}
          {total}
          %lf = mulf %l0, %fade : {column}
          %l1 = addf %lf, %more : {column}
          %fb = broadcast %fade : {column} -> {part}
          %of = mulf %o0, %fb : {part}
          %v3, %tv1 = load_view_tko weak %vv[%h, %j, %zero] : {views["v"]}, tile<i32> -> {block["v"]}, token
          %v2 = reshape %v3 : {block["v"]} -> {values}
          {"" if exact else f"%pn = ftof %p : {scores} -> {weights}"}
          %o1 = mmaf {weight}, %v2, %of : {weights}, {values}, {part}
          continue %m1, %l1, %o1 : {column}, {column}, {part}
        }}
        %lb = broadcast %l : {column} -> {part}
        {"%r2" if exact else "%wide"} = divf %o2, %lb : {part}
        {"" if exact else f"%r2 = ftof %wide : {part} -> {left}"}
        %r3 = reshape %r2 : {left} -> {block["q"]}
        %t = store_view_tko weak %r3, %vo[%h, %x, %zero] : {block["q"]}, {views["o"]}, tile<i32> -> token""",
    )


def _masked(rows: int, columns: int) -> str:
    """`%score`: `%scaled` where the key is not after the query."""
    scores, numbers, truth = [f"tile<{rows}x{columns}x{element}>" for element in ("f32", "i32", "i1")]
    return f"""%first = muli %j, %pace : tile<i32>
          %ahead = subi %first, %start : tile<i32>
          %ahead1 = reshape %ahead : tile<i32> -> tile<1x1xi32>
          %aheadb = broadcast %ahead1 : tile<1x1xi32> -> tile<1x{columns}xi32>
          %keys = addi %across, %aheadb : tile<1x{columns}xi32>
          %keysb = broadcast %keys : tile<1x{columns}xi32> -> {numbers}
          %queries = broadcast %down : tile<{rows}x1xi32> -> {numbers}
          %seen = cmpi less_than_or_equal %keysb, %queries, signed : {numbers} -> {truth}
          %score = select %seen, %scaled, %never : {truth}, {scores}"""
