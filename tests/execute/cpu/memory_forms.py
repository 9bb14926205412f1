"""Every way in which a kernel can access memory, as a program each."""

from __future__ import annotations

GLOBALS = """
  global @table alignment = 16 <i32: [1, 2, 3, 4, 5, 6, 7, 8]> : tile<8xi32>
  global constant @fixed alignment = 16 <i32: [1, 2, 3, 4, 5, 6, 7, 8]> : tile<8xi32>
  """
HEAD = """cuda_tile.module @m {
  entry @k(%a: tile<ptr<i32>>, %b: tile<ptr<i32>>, %n: tile<i32>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %eight = constant <i32: 8> : tile<i32>
    %lane = iota : tile<8xi32>
    %first = muli %x, %eight : tile<i32>
    %first1 = reshape %first : tile<i32> -> tile<1xi32>
    %firsts = broadcast %first1 : tile<1xi32> -> tile<8xi32>
    %i = addi %firsts, %lane : tile<8xi32>
    %n1 = reshape %n : tile<i32> -> tile<1xi32>
    %limit = broadcast %n1 : tile<1xi32> -> tile<8xi32>
    %mask = cmpi less_than %i, %limit, signed : tile<8xi32> -> tile<8xi1>
    %sevens = constant <i32: 7> : tile<8xi32>
    """
TAIL = "\nreturn } }"
POINTERS = "tile<8xptr<i32>>"
PART = "tile<8xi32>"
TENSOR = "tensor_view<?xi32, strides=[1]>"
VIEWS = {
    "partition": f"partition_view<tile=(8), {TENSOR}>",
    "strided": f"strided_view<tile=(8), traversal_strides=[8], {TENSOR}>",
    "gather_scatter": f"gather_scatter_view<tile=(8), {TENSOR}, sparse_dim=0>",
}


def pointers(name: str, base: str, index: str = "%i") -> str:
    return f"""%{name}1 = reshape {base} : tile<ptr<i32>> -> tile<1xptr<i32>>
    %{name}8 = broadcast %{name}1 : tile<1xptr<i32>> -> {POINTERS}
    %{name} = offset %{name}8, {index} : {POINTERS}, {PART} -> {POINTERS}
    """


def scalar(name: str, base: str) -> str:
    return f"%{name} = offset {base}, %first : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>\n"


def view(name: str, base: str, kind: str) -> str:
    return f"""%{name}.t = make_tensor_view {base}, shape = [%n], strides = [1] : tile<i32> -> {TENSOR}
    %{name} = make_{kind}_view %{name}.t : {VIEWS[kind]}
    """


def indexed(name: str, kind: str) -> tuple[str, str]:
    """An access through a view, and the types of it."""
    index, type = ("%i", PART) if kind == "gather_scatter" else ("%x", "tile<i32>")
    return f"%{name}[{index}]", f"{VIEWS[kind]}, {type}"


def through_views(kind: str, moved: bool) -> dict[str, str]:
    """Accesses through a view that is the same in all tile blocks, or not."""
    base = "%a.moved" if moved else "%a"
    made = (
        "%none = subi %x, %x : tile<i32>\n%a.moved = offset %a, %none : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>\n"
    )
    made = (made if moved else "") + view("v", base, kind)
    place, types = indexed("v", kind)
    kept = pointers("pb", "%b") + f"%s = store_ptr_tko weak %pb, %r : {POINTERS}, {PART} -> token"
    found = {
        "load_view_tko": f"{made}%r, %k = load_view_tko weak {place} : {types} -> {PART}, token\n{kept}",
        "store_view_tko": f"{made}%k = store_view_tko weak %i, {place} : {PART}, {types} -> token",
    }
    if kind != "gather_scatter":
        add = f"%k = atomic_red_view_tko relaxed device {place}, add, %i : {PART}, {types} -> token"
        found["atomic_red_view_tko"] = made + add
    return found


def forms() -> dict[str, str]:
    """By name, which ends in that of the operation, programs that touch eight elements in each tile block."""
    found: dict[str, str] = {}
    for kind in VIEWS:
        for moved in (False, True):
            for name, body in through_views(kind, moved).items():
                found[f"{kind}{' moved' if moved else ''}: {name}"] = body
    kept = pointers("pb", "%b") + f"%s = store_ptr_tko weak %pb, %r : {POINTERS}, {PART} -> token"
    some = pointers("pa", "%a")
    one = scalar("pa", "%a")
    keep_one = scalar("pb", "%b") + "%s = store_ptr_tko weak %pb, %r : tile<ptr<i32>>, tile<i32> -> token"
    for ordering in ("weak", "relaxed device"):
        found[f"{ordering}: load_ptr_tko"] = (
            f"{some}%r, %k = load_ptr_tko {ordering} %pa : {POINTERS} -> {PART}, token\n{kept}"
        )
        found[f"{ordering}: store_ptr_tko"] = (
            f"{some}%k = store_ptr_tko {ordering} %pa, %i : {POINTERS}, {PART} -> token"
        )
        found[f"scalar, {ordering}: load_ptr_tko"] = (
            f"{one}%r, %k = load_ptr_tko {ordering} %pa : tile<ptr<i32>> -> tile<i32>, token\n{keep_one}"
        )
        found[f"scalar, {ordering}: store_ptr_tko"] = (
            f"{one}%k = store_ptr_tko {ordering} %pa, %x : tile<ptr<i32>>, tile<i32> -> token"
        )
    found["masked: load_ptr_tko"] = (
        f"{some}%r, %k = load_ptr_tko weak %pa, %mask, %sevens : {POINTERS}, tile<8xi1>, {PART} -> {PART}, token\n{kept}"
    )
    found["masked: store_ptr_tko"] = (
        f"{some}%k = store_ptr_tko weak %pa, %i, %mask : {POINTERS}, {PART}, tile<8xi1> -> token"
    )
    found["tile: atomic_load_tko"] = (
        f"{some}%r, %k = atomic_load_tko relaxed device %pa : {POINTERS} -> {PART}, token\n{kept}"
    )
    found["tile: atomic_store_tko"] = (
        f"{some}%k = atomic_store_tko relaxed device %pa, %i : {POINTERS}, {PART} -> token"
    )
    found["tile: atomic_rmw_tko"] = (
        f"{some}%r, %k = atomic_rmw_tko relaxed device %pa, add, %i : {POINTERS}, {PART} -> {PART}, token"
    )
    found["masked: atomic_rmw_tko"] = (
        f"{some}%r, %k = atomic_rmw_tko relaxed device %pa, xor, %i, %mask : {POINTERS}, {PART}, tile<8xi1> -> {PART}, token"
    )
    found["scalar: atomic_rmw_tko"] = (
        f"{one}%r, %k = atomic_rmw_tko relaxed device %pa, add, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"
    )
    found["tile: atomic_cas_tko"] = (
        f"{some}%r, %k = atomic_cas_tko relaxed device %pa, %i, %i : {POINTERS}, {PART} -> {PART}, token"
    )
    # Pointers that are listed, carried by a loop, made of numbers; what is fused with the access.
    listed = pointers("pl", "%b", "%lane") + f"%j, %kj = load_ptr_tko weak %pl : {POINTERS} -> {PART}, token\n"
    listed += f"%place = addi %j, %firsts : {PART}\n" + pointers("pa", "%a", "%place")
    found["listed: load_ptr_tko"] = f"{listed}%r, %k = load_ptr_tko weak %pa : {POINTERS} -> {PART}, token\n{kept}"
    found["listed: store_ptr_tko"] = f"{listed}%k = store_ptr_tko weak %pa, %i : {POINTERS}, {PART} -> token"
    found["loop: load_ptr_tko"] = f"""{pointers("pa", "%a", "%lane")}
    %q, %r = for %t in (%zero to %x, step %one) : tile<i32> iter_values(%p = %pa, %acc = %lane) -> ({POINTERS}, {PART}) {{
      %eights = constant <i32: 8> : {PART}
      %more = offset %p, %eights : {POINTERS}, {PART} -> {POINTERS}
      %v, %k = load_ptr_tko weak %more : {POINTERS} -> {PART}, token
      %sum = addi %acc, %v : {PART}
      continue %more, %sum : {POINTERS}, {PART}
    }}
    {kept}"""
    numbers = some + f"%whole = ptr_to_int %pa : {POINTERS} -> tile<8xi64>\n"
    numbers += f"%pn = int_to_ptr %whole : tile<8xi64> -> {POINTERS}\n"
    found["numbers: load_ptr_tko"] = f"{numbers}%r, %k = load_ptr_tko weak %pn : {POINTERS} -> {PART}, token\n{kept}"
    found["numbers: store_ptr_tko"] = f"{numbers}%k = store_ptr_tko weak %pn, %i : {POINTERS}, {PART} -> token"
    found["reduced: load_ptr_tko"] = f"""{some}%v, %k = load_ptr_tko weak %pa : {POINTERS} -> {PART}, token
    %r = reduce %v dim=0 identities=[0 : i32] : {PART} -> tile<i32> (%l: tile<i32>, %m: tile<i32>) {{
      %o = addi %l, %m : tile<i32>
      yield %o : tile<i32>
    }}
    {keep_one}"""
    return found


FORMS = forms()
