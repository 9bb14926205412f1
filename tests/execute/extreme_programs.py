"""Programs with extreme attributes: whatever verifies runs, or ends in a `TileIRError`.

Each is a text with a name, made of a template and one of its numbers.  No access leaves the arrays of a launch, so that
native code may run them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

HUGE = (0, 1, -1, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
POWERS = (1, 2, 16, 4096, 2**20, 2**40, 2**62, 2**63)
ELEMENTS = (
    "i1", "i4", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "tf32", "f64", "f8E4M3FN", "f8E5M2", "f8E8M0FNU",
    "f4E2M1FN", "fnv8E5M3FNU",
)  # fmt: skip
RANKS = (5, 31, 32, 33, 62, 63, 64, 65, 100, 300)


def kernel(body: str, before: str = "") -> str:
    """A kernel with an array of 64 numbers at %a, and its first element in %x."""
    return f"""cuda_tile.module @m {{ {before}
entry @k(%a: tile<ptr<f32>>, %n: tile<i32>) {{
%zero = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%three = constant <i32: 3> : tile<i32>
%yes = constant <i1: true> : tile<i1>
%no = constant <i1: false> : tile<i1>
%some = cmpi greater_than %n, %zero, signed : tile<i32> -> tile<i1>
%block, %block_y, %block_z = get_tile_block_id : tile<i32>
%x, %x_token = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
{body}
return }} }}"""


def programs() -> Iterator[tuple[str, str]]:
    yield from memory()
    yield from prints()
    yield from ranks()
    yield from views()
    yield from loops()
    yield from control_flow()
    yield from nests()


def memory() -> Iterator[tuple[str, str]]:
    # What could be had, but not quickly, is left out.
    for count in [number for number in HUGE if not 2**20 < number < 2**40]:
        for element in ("f32", "i1", "f4E2M1FN"):
            yield (
                f"alloca {count} {element}, not executed",
                kernel(f"if %no {{ %p = alloca num_elem={count}, alignment=16 : tile<ptr<{element}>>\nyield }}"),
            )
            yield (
                f"alloca {count} {element}",
                kernel(f"%p = alloca num_elem={count}, alignment=16 : tile<ptr<{element}>>"),
            )
            yield (
                f"alloca {count} {element} in a loop",
                kernel(
                    f"for %i in (%zero to %n, step %one) : tile<i32> {{\n"
                    f"%p = alloca num_elem={count}, alignment=16 : tile<ptr<{element}>>\ncontinue }}"
                ),
            )
    for alignment in POWERS:
        # Never executed, so nothing is asked for.
        yield (
            f"alloca aligned to {alignment}, not executed",
            kernel(f"if %no {{ %p = alloca num_elem=0, alignment={alignment} : tile<ptr<f32>>\nyield }}"),
        )
        yield (
            f"alloca aligned to {alignment}",
            kernel(
                f"%p = alloca num_elem=4, alignment={alignment} : tile<ptr<f32>>\n"
                "%y, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token"
            ),
        )
        before = f"global @g alignment = {alignment} <f32: [1.0, 2.0]> : tile<2xf32>"
        read = "%p = get_global @g : tile<ptr<f32>>\n%y, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token"
        yield f"global aligned to {alignment}", kernel(read, before)
        yield f"global aligned to {alignment}, unused", kernel("", before)
        yield (
            f"assume div_by {alignment}",
            kernel(
                f"%p = assume div_by<{alignment}>, %a : tile<ptr<f32>>\n"
                "%y, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token"
            ),
        )
    for low, high in product(("?", *HUGE), ("?", *HUGE)):
        yield f"assume bounded {low} {high}", kernel(f"%m = assume bounded<{low}, {high}>, %n : tile<i32>")
    for element in ELEMENTS:
        number = "true" if element == "i1" else "1.0" if "f" in element else "1"
        yield (
            f"global of {element}",
            kernel(
                f"%p = get_global @g : tile<ptr<{element}>>\n"
                f"%y, %t = load_ptr_tko weak %p : tile<ptr<{element}>> -> tile<{element}>, token\n"
                f'%u = print_tko "%s", %y : tile<{element}> -> token',
                f"global @g alignment = 16 <{element}: [{number}, {number}]> : tile<2x{element}>",
            ),
        )


def prints() -> Iterator[tuple[str, str]]:
    for width, letter in product(("0", "70", "65535", "65536", "2147483648", "1" + "0" * 20, "9" * 5000), "dfsxcpgaeu"):
        for form in ("%{w}", "%-{w}", "%.{w}", "%0{w}", "%{w}.{w}", "%+ #{w}"):
            text = form.format(w=width) + letter
            yield f"print {text[:40]}", kernel(f'%u = print_tko "{text}", %x : tile<f32> -> token')
    for text in (
        "%",
        "%%",
        "%5%",
        "%n",
        "%ld",
        "%lld",
        "%hhd",
        "%Lf",
        "%.d",
        "%.f",
        "%*d",
        "%1$d",
        "%q",
        "%5",
        "%-",
        "\\00",
        "%5.5",
    ):
        yield f"print {text}", kernel(f'%u = print_tko "{text}" -> token')
        yield f"print {text} of one", kernel(f'%u = print_tko "{text}", %x : tile<f32> -> token')
    for element, letter in product(ELEMENTS, "dfsxcpgaeuoXn"):
        number = "true" if element == "i1" else "1.0" if "f" in element else "1"
        if element != "i4":
            yield (
                f"print %{letter} of {element}",
                kernel(
                    f"%v = constant <{element}: {number}> : tile<2x{element}>\n"
                    f'%u = print_tko "%{letter}", %v : tile<2x{element}> -> token'
                ),
            )
    for number in ("0x7F800000", "0xFF800000", "0x7FC00000", "0x7F800001"):
        for letter in "dfsxcpgaeu":
            yield (
                f"print %{letter} of {number}",
                kernel(
                    f'%v = constant <f32: {number}> : tile<f32>\n%u = print_tko "%{letter}", %v : tile<f32> -> token'
                ),
            )
    yield "print a pointer", kernel('%u = print_tko "%p", %a : tile<ptr<f32>> -> token')


def ranks() -> Iterator[tuple[str, str]]:
    for rank in RANKS:
        ones = "x".join(["1"] * rank)
        wide, tile = "x".join(["2", *["1"] * (rank - 1)]), f"tile<{ones}xf32>"
        order = ", ".join([str(place) for place in reversed(range(rank))])
        zeros = ", ".join(["%zero"] * rank)
        made = f"%r = reshape %x : tile<f32> -> {tile}\n"
        steps = {
            "exp": f"%e = exp %r : {tile}",
            "permute": f"%e = permute %r [{order}] : {tile} -> {tile}",
            "broadcast": f"%e = broadcast %r : {tile} -> tile<{wide}xf32>",
            "cat": f"%e = cat %r, %r dim = {rank - 1} : {tile}, {tile} -> tile<{ones[:-1]}2xf32>",
            "extract": f"%e = extract %r[{zeros}] : {tile} -> {tile}",
            "reduce": f"%e = reduce %r dim={rank - 1} identities=[0.0 : f32] : {tile} -> tile<{ones[:-2]}xf32> "
            "(%p: tile<f32>, %q: tile<f32>) { %s = addf %p, %q : tile<f32>\nyield %s : tile<f32> }",
            "scan": f"%e = scan %r dim={rank - 1} reverse=false identities=[0.0 : f32] : {tile} -> {tile} "
            "(%p: tile<f32>, %q: tile<f32>) { %s = addf %p, %q : tile<f32>\nyield %s : tile<f32> }",
            "print": f'%e = print_tko "%f", %r : {tile} -> token',
            "select": f"%c = constant <i1: true> : tile<{ones}xi1>\n%e = select %c, %r, %r : tile<{ones}xi1>, {tile}",
            "constant": f"%e = constant <f32: 1.0> : {tile}",
            "for": f"%e = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%c = %r) -> ({tile}) {{ continue %c : {tile} }}",
            "load": f"%p = reshape %a : tile<ptr<f32>> -> tile<{ones}xptr<f32>>\n"
            f"%e, %t = load_ptr_tko weak %p : tile<{ones}xptr<f32>> -> {tile}, token\n"
            f"%u = store_ptr_tko weak %p, %e token=%t : tile<{ones}xptr<f32>>, {tile} -> token",
            "atomic": f"%p = reshape %a : tile<ptr<f32>> -> tile<{ones}xptr<f32>>\n"
            f"%e, %t = atomic_rmw_tko relaxed device %p, addf, %r : tile<{ones}xptr<f32>>, {tile} -> {tile}, token",
            "assert": f'%c = constant <i1: true> : tile<{ones}xi1>\nassert %c, "no" : tile<{ones}xi1>',
        }
        for name, step in steps.items():
            yield f"{name} of rank {rank}", kernel(made + step if "%r" in step else step)
        extents, strides = ", ".join(["1"] * rank), ", ".join(["1"] * rank)
        tensor = f"tensor_view<{ones}xf32, strides=[{strides}]>"
        for padding in ("", ", padding_value = zero", ", padding_value = nan"):
            view = f"partition_view<tile=({ones}){padding}, {tensor}>"
            yield (
                f"view of rank {rank}{padding}",
                kernel(
                    f"%tv = make_tensor_view %a, shape = [{extents}], strides = [{strides}] : {tensor}\n"
                    f"%pv = make_partition_view %tv : {view}\n"
                    f"%e, %t = load_view_tko weak %pv[{zeros}] : {view}, tile<i32> -> {tile}, token\n"
                    f"%u = store_view_tko weak %e, %pv[{zeros}] token=%t : {tile}, {view}, tile<i32> -> token\n"
                    f"%s:{rank} = get_index_space_shape %pv : {view} -> tile<i32>"
                ),
            )


def views() -> Iterator[tuple[str, str]]:
    for extent, stride in product(HUGE, HUGE):
        tensor = f"tensor_view<{extent}xf32, strides=[{stride}]>"
        view = f"partition_view<tile=(4), padding_value = zero, {tensor}>"
        made = f"%tv = make_tensor_view %a, shape = [{extent}], strides = [{stride}] : {tensor}\n%pv = make_partition_view %tv : {view}\n"
        yield (
            f"shape of a view {extent} {stride}",
            kernel(
                f"{made}%s = get_index_space_shape %pv : {view} -> tile<i64>\n"
                f'%u = print_tko "%d", %s : tile<i64> -> token\n%d = get_tensor_shape %tv : {tensor} -> tile<i64>'
            ),
        )
        if extent <= 1:
            yield (
                f"view {extent} {stride}",
                kernel(f"{made}%e, %t = load_view_tko weak %pv[%zero] : {view}, tile<i32> -> tile<4xf32>, token"),
            )
    dynamic = "tensor_view<?xf32, strides=[?]>"
    for extent, stride in product(HUGE, HUGE):
        if extent >= 2**63 or stride >= 2**63:
            continue
        view = f"partition_view<tile=(4), padding_value = zero, {dynamic}>"
        yield (
            f"dynamic view {extent} {stride}",
            kernel(
                f"%e = constant <i64: {extent}> : tile<i64>\n%s = constant <i64: {stride}> : tile<i64>\n"
                f"%tv = make_tensor_view %a, shape = [%e], strides = [%s] : tile<i64> -> {dynamic}\n"
                f"%pv = make_partition_view %tv : {view}\n%z = get_index_space_shape %pv : {view} -> tile<i64>\n"
                f'%u = print_tko "%d", %z : tile<i64> -> token'
            ),
        )
        # Without strides all elements are the first.
        yield (
            f"dynamic view {extent} of one element",
            kernel(
                f"%e = constant <i64: {extent}> : tile<i64>\n%s = constant <i64: 0> : tile<i64>\n%i = constant <i64: {stride}> : tile<i64>\n"
                f"%tv = make_tensor_view %a, shape = [%e], strides = [%s] : tile<i64> -> {dynamic}\n"
                f"%pv = make_partition_view %tv : {view}\n"
                f"%y, %t = load_view_tko weak %pv[%i] : {view}, tile<i64> -> tile<4xf32>, token\n"
                f'%u = print_tko "%f", %y : tile<4xf32> -> token'
            ),
        )
    for step, index in product(HUGE, HUGE):
        tensor = "tensor_view<0xf32, strides=[1]>"
        view = f"strided_view<tile=(4), traversal_strides=[{step}], padding_value = zero, {tensor}>"
        yield (
            f"strided view {step} at {index}",
            kernel(
                f"%i = constant <i64: {index}> : tile<i64>\n"
                f"%tv = make_tensor_view %a, shape = [0], strides = [1] : {tensor}\n%pv = make_strided_view %tv : {view}\n"
                f"%e, %t = load_view_tko weak %pv[%i] : {view}, tile<i64> -> tile<4xf32>, token\n"
                f"%z = get_index_space_shape %pv : {view} -> tile<i64>"
            ),
        )
    for size in (1, 64, 2**20, 2**23, 2**24, 2**25, 2**31, 2**40, 2**62):
        yield f"iota {size}", kernel(f"%i = iota : tile<{size}xi32>")
        yield f"constant {size}", kernel(f"%i = constant <i8: 1> : tile<{size}xi8>")
    for index in HUGE:
        yield (
            f"extract at {index}",
            kernel(
                f"%i = constant <i64: {index}> : tile<i64>\n%v = constant <f32: 1.0> : tile<8xf32>\n"
                "%e = extract %v[%i] : tile<8xf32> -> tile<2xf32>"
            ),
        )
        yield (
            f"offset by {index}",
            kernel(
                f"%i = constant <i64: {index}> : tile<i64>\n"
                "%p = offset %a, %i : tile<ptr<f32>>, tile<i64> -> tile<ptr<f32>>\n"
                "%q = ptr_to_int %p : tile<ptr<f32>> -> tile<i64>"
            ),
        )


def loops() -> Iterator[tuple[str, str]]:
    bounds = (0, 1, -1, 127, -128, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
    for kind, (low, high, step) in product(
        ("i8", "i32", "i64"), product(bounds, bounds, (1, 127, 2**31 - 1, 2**63 - 1))
    ):
        for sign in ("", "unsigned "):
            width = int(kind[1:])
            if not all(-(2 ** (width - 1)) <= number < 2 ** (width - 1) for number in (low, high, step)):
                continue
            mask = 2**width - 1
            first, last = (low & mask, high & mask) if sign else (low, high)
            if (last - first) // step > 300:
                continue
            yield (
                f"for {sign}{kind} {low} {high} {step}",
                kernel(
                    f"%l = constant <{kind}: {low}> : tile<{kind}>\n%h = constant <{kind}: {high}> : tile<{kind}>\n"
                    f"%s = constant <{kind}: {step}> : tile<{kind}>\n"
                    f"%r = for {sign}%i in (%l to %h, step %s) : tile<{kind}> iter_values(%c = %x) -> (tile<f32>) {{\n"
                    "%d = addf %c, %x : tile<f32>\ncontinue %d : tile<f32> }"
                ),
            )


TENSOR = "tensor_view<64xf32, strides=[1]>"
VIEW = f"partition_view<tile=(4), {TENSOR}>"


def carried_values() -> Iterator[tuple[str, str]]:
    """Values that control flow may hand on, with their types; what makes them comes first."""
    for element in ELEMENTS:
        if element == "i4":
            yield "tile<8xi4>", "%b4 = constant <i8: 3> : tile<4xi8>\n%v = unpack %b4 : tile<4xi8> -> tile<8xi4>\n"
            continue
        number = "true" if element == "i1" else "1.0" if "f" in element else "1"
        for shape in ("", "4x", "2x1x2x"):
            yield f"tile<{shape}{element}>", f"%v = constant <{element}: {number}> : tile<{shape}{element}>\n"
    yield "tile<ptr<f32>>", "%v = offset %a, %zero : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>\n"
    yield (
        "tile<4xptr<f32>>",
        (
            "%a1 = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>\n%v = broadcast %a1 : tile<1xptr<f32>> -> tile<4xptr<f32>>\n"
        ),
    )
    yield "tile<ptr<f4E2M1FN>>", "%v = alloca num_elem=4, alignment=16 : tile<ptr<f4E2M1FN>>\n"
    yield "token", "%v = make_token : token\n"
    tensor = f"%tv = make_tensor_view %a, shape = [64], strides = [1] : {TENSOR}\n"
    yield TENSOR, tensor.replace("%tv", "%v")
    yield VIEW, f"{tensor}%v = make_partition_view %tv : {VIEW}\n"


def use_of(type: str, value: str) -> str:
    """An operation that takes a value that came out of control flow."""
    if type == "token":
        return f"%u = join_tokens {value}, {value} : token"
    if type == VIEW:
        return f"%y, %u = load_view_tko weak {value}[%zero] token=%x_token : {VIEW}, tile<i32> -> tile<4xf32>, token\n%w = store_view_tko weak %y, {value}[%one] : tile<4xf32>, {VIEW}, tile<i32> -> token"
    if type == TENSOR:
        return f"%d = get_tensor_shape {value} : {TENSOR} -> tile<i32>"
    if "ptr" in type:
        pointee = type[type.index("ptr<") + 4 : type.index(">")]
        whole = type.replace(f"ptr<{pointee}>", pointee)
        return f"%y, %u = load_ptr_tko weak {value} : {type} -> {whole}, token\n%w = store_ptr_tko weak {value}, %y : {type}, {whole} -> token"
    return f'%u = print_tko "%s", {value} : {type} -> token'


def control_flow() -> Iterator[tuple[str, str]]:
    """Every type of value out of every way that leaves a region."""
    for type, made in carried_values():
        after = use_of(type, "%r")
        ways = {
            "if": f"%r = if %some -> ({type}) {{ yield %v : {type} }} else {{ yield %v : {type} }}\n",
            "for": f"%r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%c = %v) -> ({type}) {{\ncontinue %c : {type} }}\n",
            "for that never runs": f"%r = for %i in (%one to %zero, step %one) : tile<i32> iter_values(%c = %v) -> ({type}) {{\ncontinue %c : {type} }}\n",
            "continue in an if": f"%r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%c = %v) -> ({type}) {{\n"
            f"if %some {{ continue %v : {type} }}\ncontinue %c : {type} }}\n",
            "continue in both": f"%r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%c = %v) -> ({type}) {{\n"
            f"if %some {{ continue %v : {type} }} else {{ continue %c : {type} }}\ncontinue %c : {type} }}\n",
            "break": f"%r = loop iter_values(%c = %v) : {type} -> {type} {{\nbreak %c : {type} }}\n",
            "break in an if": f"%r = loop iter_values(%c = %v) : {type} -> {type} {{\n"
            f"if %some {{ break %c : {type} }}\ncontinue %v : {type} }}\n",
            "break and continue": f"%r = loop iter_values(%c = %v) : {type} -> {type} {{\n"
            f"if %no {{ continue %c : {type} }} else {{ if %some {{ break %v : {type} }}\n }}\nbreak %c : {type} }}\n",
            "break out of a for's if": f"%r = loop iter_values(%c = %v) : {type} -> {type} {{\n"
            f"%d = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%e = %c) -> ({type}) {{\n"
            f"if %some {{ continue %e : {type} }}\ncontinue %c : {type} }}\nif %some {{ break %d : {type} }}\ncontinue %d : {type} }}\n",
            "return in an if": f"%r = if %some -> ({type}) {{ yield %v : {type} }} else {{ return }}\n",
        }  # fmt: skip
        for name, way in ways.items():
            yield f"{type} through {name}", kernel(made + way + after)
    yield "an if without anything", kernel("if %some { yield }\nif %some { } else { }")
    yield "a return in a loop", kernel("loop { if %some { return }\nbreak }")


def nests() -> Iterator[tuple[str, str]]:
    for depth in (10, 60, 200):
        yield f"{depth} ifs", kernel("if %some {\n" * depth + "}\n" * depth)
        opened = "".join([f"for %i{n} in (%zero to %one, step %one) : tile<i32> {{\n" for n in range(depth)])
        yield f"{depth} loops", kernel(opened + "continue }\n" * depth)
        yield (
            f"{depth} values in a row",
            kernel("".join([f"%e{n + 1} = addf %{f'e{n}' if n else 'x'}, %x : tile<f32>\n" for n in range(depth)])),
        )
    for count in (1, 50, 300):
        names = ", ".join([f"%c{n} = %x" for n in range(count)])
        types = ", ".join(["tile<f32>"] * count)
        values = ", ".join([f"%c{n}" for n in range(count)])
        yield (
            f"{count} carried values",
            kernel(
                f"%r:{count} = for %i in (%zero to %n, step %one) : tile<i32> iter_values({names}) -> ({types}) {{\n"
                f"continue {values} : {types} }}"
            ),
        )
