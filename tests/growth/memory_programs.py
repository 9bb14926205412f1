"""Programs with more and more accesses to memory, tokens and other effects."""

from __future__ import annotations

from tests.growth.writing import Maker, each, kernel


def views(n: int) -> str:
    lines = []
    for i in range(n):
        lines += [
            f"%w{i} = make_tensor_view %p, shape = [{8 * (i % 4 + 1)}], strides = [1] : "
            f"tensor_view<{8 * (i % 4 + 1)}xf32, strides=[1]>",
            f"%q{i} = make_partition_view %w{i} : "
            f"partition_view<tile=(8), tensor_view<{8 * (i % 4 + 1)}xf32, strides=[1]>>",
            f"%d{i}, %t{i} = load_view_tko weak %q{i}[%zero] : "
            f"partition_view<tile=(8), tensor_view<{8 * (i % 4 + 1)}xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token",
        ]
    return kernel(lines)


def stores(n: int) -> str:
    """Stores that follow each other by tokens."""
    lines = []
    for i in range(n):
        token = f" token=%t{i - 1}" if i else ""
        lines.append(f"%t{i} = store_ptr_tko weak %p, %f{token} : tile<ptr<f32>>, tile<f32> -> token")
    return kernel(lines)


def joined_tokens(n: int) -> str:
    """Each store behind all before it."""
    lines = ["%j0 = make_token : token"]
    for i in range(n):
        lines.append(f"%t{i} = store_ptr_tko weak %p, %f token=%j{i} : tile<ptr<f32>>, tile<f32> -> token")
        lines.append(f"%j{i + 1} = join_tokens %t{i}, %j{i} : token")
    return kernel(lines)


def copies(n: int) -> str:
    """Loads and stores of tiles of one array in turns."""
    view = "partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>"
    lines = [
        "%w = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>",
        f"%q = make_partition_view %w : {view}",
    ]
    for i in range(n):
        lines.append(f"%d{i}, %t{i} = load_view_tko weak %q[%zero] : {view}, tile<i32> -> tile<8xf32>, token")
        lines.append(f"%u{i} = store_view_tko weak %d{i}, %q[%one] : tile<8xf32>, {view}, tile<i32> -> token")
    return kernel(lines)


def waiting(n: int) -> str:
    """Tiles that are computed before many branches and stored behind them."""
    view = "partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>"
    lines = [
        "%w = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>",
        f"%q = make_partition_view %w : {view}",
        "%d, %t = load_view_tko weak %q[%zero] : " + view + ", tile<i32> -> tile<8xf32>, token",
        "%c = cmpi less_than %x, %n, signed : tile<i32> -> tile<i1>",
        *each(n, lambda i: f"%e{i} = addf %d, %d : tile<8xf32>"),
        *each(n, lambda i: f'if %c {{ assert %c, "{i}" : tile<i1> }}'),
        *each(n, lambda i: f"%u{i} = store_view_tko weak %e{i}, %q[%one] : tile<8xf32>, {view}, tile<i32> -> token"),
    ]
    return kernel(lines)


def tile_users(n: int) -> str:
    """A tile that many stores take."""
    view = "partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>"
    lines = [
        "%w = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>",
        f"%q = make_partition_view %w : {view}",
        "%d, %t = load_view_tko weak %q[%zero] : " + view + ", tile<i32> -> tile<8xf32>, token",
        "%e = addf %d, %d : tile<8xf32>",
        *each(n, lambda i: f"%u{i} = store_view_tko weak %e, %q[%one] : tile<8xf32>, {view}, tile<i32> -> token"),
    ]
    return kernel(lines)


def offsets(n: int) -> str:
    """A pointer that is moved many times."""
    lines = each(
        n,
        lambda i: f"%q{i} = offset {f'%q{i - 1}' if i else '%p'}, %zero : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>",
    )
    return kernel([*lines, f"%t = store_ptr_tko weak %q{n - 1}, %f : tile<ptr<f32>>, tile<f32> -> token"])


def arrays(n: int) -> str:
    """Many arrays, each written."""
    parameters = ", ".join(each(n, lambda i: f"%a{i}: tile<ptr<f32>>"))
    lines = each(n, lambda i: f"%t{i} = store_ptr_tko weak %a{i}, %f : tile<ptr<f32>>, tile<f32> -> token")
    return kernel(lines, parameters)


def unordered(n: int) -> str:
    """Stores that nothing orders: a finding for each pair of neighbors."""
    return kernel(each(n, lambda i: f"%t{i} = store_ptr_tko weak %p, %f : tile<ptr<f32>>, tile<f32> -> token"))


def allocas(n: int) -> str:
    lines = []
    for i in range(n):
        lines.append(f"%m{i} = alloca num_elem = 4, alignment = 16 : tile<ptr<f32>>")
        lines.append(f"%t{i} = store_ptr_tko weak %m{i}, %f : tile<ptr<f32>>, tile<f32> -> token")
    return kernel(lines)


def prints(n: int) -> str:
    return kernel(each(n, lambda i: f'%t{i} = print_tko "a %i", %x : tile<i32> -> token'))


def asserts(n: int) -> str:
    return kernel(each(n, lambda i: f'assert %true, "number {i}" : tile<i1>'))


def products(n: int) -> str:
    lines = ["%a = constant <f32: 1.0> : tile<8x8xf32>"]
    for i in range(n):
        before = f"%r{i - 1}" if i else "%a"
        lines.append(f"%r{i} = mmaf {before}, %a, %a : tile<8x8xf32>, tile<8x8xf32>, tile<8x8xf32>")
    return kernel(lines)


MEMORY: dict[str, Maker] = {
    "views": views,
    "stores": stores,
    "joined tokens": joined_tokens,
    "copies": copies,
    "waiting tiles": waiting,
    "users of a tile": tile_users,
    "offsets": offsets,
    "arrays": arrays,
    "unordered stores": unordered,
    "allocas": allocas,
    "prints": prints,
    "asserts": asserts,
    "products": products,
}
