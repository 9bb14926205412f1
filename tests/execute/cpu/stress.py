"""Random kernels against the rules of the lowering: what waits, what is kept, what shares a buffer, what may alias.

Tiles travel through nested loops and branches, loads and stores of the same arrays stand between a value and its uses,
values are used several times, through maps and in reductions, before and after loops.  All accesses stay in their arrays
and all loops end.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Shape = tuple[int, ...]
Type = tuple[Shape, str]

SIZE = 4096
"""Elements of each array that a kernel reads and writes anywhere."""
ROOM = 8192
"""Elements of each array that takes values at the end, for each tile block."""
BLOCKS = 4
ARRAYS = {"a": "f32", "b": "f32", "c": "f32", "d": "i32", "e": "i32", "h": "f16", "g": "i8", "l": "i64"}
OUTPUTS = ("f32", "i32", "f16", "i8", "i64")

_SHAPES: tuple[Shape, ...] = (
    (4,), (8,), (16,), (64,), (128,), (256,), (4, 8), (8, 4), (16, 16), (8, 16), (16, 8), (1, 16), (16, 1), (128, 2),
    (2, 128), (2, 4, 8), (4, 1, 8), (1, 8, 1), (2, 8, 4), (2, 2, 4, 8), (1, 1), (1,), (2, 1, 4, 1),
)  # fmt: skip
_FLOATS = ("f32", "f32", "f32", "f16")
_INTEGERS = ("i32", "i32", "i64", "i8")


def text_of(type: Type) -> str:
    shape, element = type
    return f"tile<{''.join([f'{extent}x' for extent in shape])}{element}>"


def _count(shape: Shape) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


def _meet(extents: list[int], strides: list[int]) -> bool:
    """Whether elements of a tensor may share memory."""
    reach = 1
    for stride, extent in sorted(zip(strides, extents, strict=True)):
        if extent > 1:
            if stride < reach:
                return True
            reach = (extent - 1) * stride + reach
    return False


class _View:
    """A view that programs may use: its name, its type and that of its tiles; `sparse` is its listed dimension,
    `meeting` says that elements of its tensor share memory, where what a store leaves is nobody's business."""

    def __init__(self, name: str, type: str, tile: Type, sparse: int, meeting: bool) -> None:
        self.name = name
        self.type = type
        self.tile = tile
        self.sparse = sparse
        self.meeting = meeting


class Stress:
    """Writes one kernel."""

    def __init__(self, rng: Random, size: int) -> None:
        self.rng = rng
        self.size = size
        self.lines: list[str] = []
        self.number = 0
        self.depth = 0
        self.scopes: list[dict[Type, list[str]]] = [{}]
        self.views: list[_View] = []
        # How to leave the loops around, innermost last: the types they carry, and those they give for `break`.
        self.loops: list[tuple[list[Type], list[Type] | None, str | None]] = []

    # --- names and values ---

    def fresh(self) -> str:
        self.number += 1
        return f"%v{self.number}"

    def emit(self, text: str, type: Type) -> str:
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        self.know(name, type)
        return name

    def know(self, name: str, type: Type) -> None:
        self.scopes[-1].setdefault(type, []).append(name)

    def known(self, type: Type) -> list[str]:
        return [name for scope in self.scopes for name in scope.get(type, [])]

    def all_known(self) -> list[tuple[str, Type]]:
        return [(name, type) for scope in self.scopes for type, names in scope.items() for name in names]

    def constant(self, type: Type) -> str:
        rng = self.rng
        element = type[1]
        if element == "i1":
            value = rng.choice(("true", "false"))
        elif element.startswith("f"):
            value = f"{rng.choice((0.0, 1.0, -1.5, 0.25, 3.0, -0.125)):.6e}"
        else:
            value = str(rng.choice((0, 1, 2, 3, 5, 7, -1, -3)))
        return self.emit(f"constant <{element}: {value}> : {text_of(type)}", type)

    def want(self, type: Type) -> str:
        """A value of a type: one that is there, or a new one."""
        found = self.known(type)
        if found and self.rng.random() < 0.85:
            # Recent ones more often: chains grow long, and some values wait long.
            return found[-1 - min(int(self.rng.expovariate(0.5)), len(found) - 1)]
        return self.make(type)

    def make(self, type: Type) -> str:
        rng = self.rng
        shape, element = type
        if not shape:
            return self.scalar(element)
        if element == "i1":
            left, right = self.want((shape, "i32")), self.want((shape, "i32"))
            relation = rng.choice(("less_than", "equal", "greater_than"))
            return self.emit(f"cmpi {relation} {left}, {right}, signed : {text_of((shape, 'i32'))} -> {text_of(type)}", type)
        choices = [self.constant, self.spread]
        if element == "i32" and len(shape) == 1:
            choices.append(lambda type: self.emit(f"iota : {text_of(type)}", type))
        if any(view.tile == type for view in self.views):
            choices += [self.load_view] * 4
        if element in ARRAYS.values():
            choices += [self.load_pointers] * 2
        return rng.choice(choices)(type)

    def spread(self, type: Type) -> str:
        """A tile of one scalar."""
        shape, element = type
        scalar = self.want(((), element))
        ones = (1,) * len(shape)
        line = self.emit(f"reshape {scalar} : {text_of(((), element))} -> {text_of((ones, element))}", (ones, element))
        return self.emit(f"broadcast {line} : {text_of((ones, element))} -> {text_of(type)}", type)

    def scalar(self, element: str) -> str:
        rng = self.rng
        type: Type = ((), element)
        if element == "i1":
            left, right = self.want(((), "i32")), self.want(((), "i32"))
            relation = rng.choice(("less_than", "less_than_or_equal", "equal", "not_equal"))
            return self.emit(f"cmpi {relation} {left}, {right}, signed : tile<i32> -> tile<i1>", type)
        return self.constant(type)

    def bounded(self, count: int, element: str = "i32") -> str:
        """A scalar from 0 up to a power of two."""
        scalar = self.want(((), element))
        mask = self.fresh()
        self.lines.append(f"{mask} = constant <{element}: {count - 1}> : tile<{element}>")
        name = self.fresh()
        self.lines.append(f"{name} = andi {scalar}, {mask} : tile<{element}>")
        return name

    # --- memory ---

    def declare_views(self) -> None:
        rng = self.rng
        for number in range(rng.randrange(4, 9)):
            array = rng.choice(list(ARRAYS))
            element = ARRAYS[array]
            shape = rng.choice([shape for shape in _SHAPES if 1 <= len(shape) <= 3])
            kind = rng.choice(("partition", "partition", "partition", "strided", "gather", "mapped"))
            extents, strides = self._tensor(shape)
            dynamic = rng.random() < 0.4
            words = [str(extent) for extent in extents]
            operands = list(words)
            before = ""
            steps = [str(stride) for stride in strides]
            distances = list(steps)
            if dynamic:
                # Not known when the kernel is compiled: the argument is zero.
                before = "tile<i64> -> "
                place = rng.randrange(len(extents))
                extents[place] = rng.choice((extents[place], extents[place], extents[place], 0))
                operands[place], words[place] = self.unknown(extents[place]), "?"
                if rng.random() < 0.5:
                    place = rng.randrange(len(extents))
                    distances[place], steps[place] = self.unknown(strides[place]), "?"
            tensor = f"tensor_view<{'x'.join([*words, element])}, strides=[{','.join(steps)}]>"
            self.lines.append(
                f"%t{number} = make_tensor_view %{array}, shape = [{', '.join(operands)}], strides = "
                f"[{', '.join(distances)}] : {before}{tensor}"
            )
            padding = rng.choice(("", "", "padding_value = zero, "))
            if element.startswith("f"):
                padding = rng.choice((padding, "padding_value = nan, ", "padding_value = neg_inf, "))
            tile = f"tile=({'x'.join(map(str, shape))})"
            sparse = -1
            mapped = ""
            if kind == "mapped" and len(shape) > 1:
                axes = list(range(len(shape)))
                rng.shuffle(axes)
                mapped = f", dim_map=[{', '.join(map(str, axes))}]"
            if kind == "strided":
                traversal = ",".join([str(rng.choice((1, 2, 3, extent, extent + 1))) for extent in shape])
                type = f"strided_view<{tile}, traversal_strides=[{traversal}], {padding}{tensor}>"
            elif kind == "gather":
                sparse = rng.randrange(len(shape))
                type = f"gather_scatter_view<{tile}, {padding}{tensor}, sparse_dim={sparse}>"
            else:
                type = f"partition_view<{tile}, {padding}{tensor}{mapped}>"
            word = {"strided": "strided", "gather": "gather_scatter"}.get(kind, "partition")
            self.lines.append(f"%w{number} = make_{word}_view %t{number} : {type}")
            self.views.append(_View(f"%w{number}", type, (shape, element), sparse, _meet(extents, strides)))

    def unknown(self, number: int) -> str:
        """A number that the compiler cannot tell."""
        constant, found = self.fresh(), self.fresh()
        self.lines.append(f"{constant} = constant <i64: {number}> : tile<i64>")
        self.lines.append(f"{found} = addi {constant}, %none : tile<i64>")
        return found

    def _tensor(self, shape: Shape) -> tuple[list[int], list[int]]:
        """Extents and strides of a tensor that lies in an array; tiles may reach over its edges."""
        rng = self.rng
        while True:
            extents = [max(1, rng.choice((2 * extent, 2 * extent, 3 * extent - 1, extent, extent + 1, 5))) for extent in shape]
            strides = []
            step = 1
            for extent in reversed(extents):
                strides.append(step)
                step *= extent + rng.choice((0, 0, 3))
            strides.reverse()
            order = rng.random()
            if order < 0.25:
                pairs = list(zip(extents, strides, strict=True))
                strides = [stride for _, stride in pairs]
                rng.shuffle(strides)
            elif order < 0.35:
                # Elements meet.
                strides = [rng.choice((1, 2, stride)) for stride in strides]
            if sum([(extent - 1) * stride for extent, stride in zip(extents, strides, strict=True)]) < SIZE:
                return extents, strides

    def index_of(self, view: _View) -> tuple[str, str]:
        rng = self.rng
        element = rng.choice(("i32", "i32", "i32", "i64", "i8"))
        names, types = [], []
        for axis in range(len(view.tile[0])):
            if axis == view.sparse:
                type: Type = ((view.tile[0][axis],), "i32")
                names.append(self.want(type))
                types.append(text_of(type))
            else:
                wide = "i32" if view.sparse >= 0 else element
                names.append(self.bounded(rng.choice((1, 2, 2, 4)), wide))
                types.append(f"tile<{wide}>")
        return ", ".join(names), ", ".join(types) if view.sparse >= 0 else types[0]

    def load_view(self, type: Type) -> str:
        view = self.rng.choice([view for view in self.views if view.tile == type])
        names, types = self.index_of(view)
        name = self.fresh()
        ordering = self.rng.choice(("weak",) * 9 + ("acquire device",))
        self.lines.append(f"{name}, {self.fresh()} = load_view_tko {ordering} {view.name}[{names}] : {view.type}, {types} -> {text_of(type)}, token")
        self.know(name, type)
        return name

    def store_view(self) -> None:
        views = [view for view in self.views if not view.meeting]
        if not views:
            return
        view = self.rng.choice(views)
        names, types = self.index_of(view)
        value = self.want(view.tile)
        ordering = self.rng.choice(("weak",) * 9 + ("release device",))
        self.lines.append(f"{self.fresh()} = store_view_tko {ordering} {value}, {view.name}[{names}] : {text_of(view.tile)}, {view.type}, {types} -> token")

    def pointers(self, array: str, shape: Shape) -> str:
        """Pointers somewhere into an array."""
        rng = self.rng
        element = f"ptr<{ARRAYS[array]}>"
        line = (_count(shape),)
        ones = (1,) * len(shape)
        if rng.random() < 0.6:
            places = self.emit(f"iota : {text_of((line, 'i32'))}", (line, "i32"))
            start = self.spread((line, "i32"))
            kind = rng.choice(("addi", "addi", "addi", "muli", "subi"))
            places = self.emit(f"{kind} {places}, {start} : {text_of((line, 'i32'))}", (line, "i32"))
            places = self.reshaped(places, (line, "i32"), shape)
        else:
            places = self.want((shape, "i32"))
        full = text_of((shape, "i32"))
        mask, inside = self.fresh(), self.fresh()
        self.lines.append(f"{mask} = constant <i32: {rng.choice((SIZE // 2 - 1, 255, 63))}> : {full}")
        self.lines.append(f"{inside} = andi {places}, {mask} : {full}")
        base, spread, found = self.fresh(), self.fresh(), self.fresh()
        self.lines.append(f"{base} = reshape %{array} : tile<{element}> -> {text_of((ones, element))}")
        self.lines.append(f"{spread} = broadcast {base} : {text_of((ones, element))} -> {text_of((shape, element))}")
        self.lines.append(f"{found} = offset {spread}, {inside} : {text_of((shape, element))}, {full} -> {text_of((shape, element))}")
        return found

    def load_pointers(self, type: Type) -> str:
        shape, element = type
        rng = self.rng
        array = rng.choice([name for name, kind in ARRAYS.items() if kind == element])
        pointers = self.pointers(array, shape)
        extra, types = "", ""
        if rng.random() < 0.4:
            extra, types = f", {self.want((shape, 'i1'))}", f", {text_of((shape, 'i1'))}"
            if rng.random() < 0.5:
                extra, types = f"{extra}, {self.want(type)}", f"{types}, {text_of(type)}"
        name = self.fresh()
        pointer = text_of((shape, f"ptr<{element}>"))
        self.lines.append(f"{name}, {self.fresh()} = load_ptr_tko weak {pointers}{extra} : {pointer}{types} -> {text_of(type)}, token")
        self.know(name, type)
        return name

    def store_pointers(self) -> None:
        rng = self.rng
        array = rng.choice(list(ARRAYS))
        type = (rng.choice(_SHAPES), ARRAYS[array])
        value = self.want(type)
        pointers = self.pointers(array, type[0])
        extra, types = "", ""
        if rng.random() < 0.3:
            extra, types = f", {self.want((type[0], 'i1'))}", f", {text_of((type[0], 'i1'))}"
        pointer = text_of((type[0], f"ptr<{type[1]}>"))
        self.lines.append(f"{self.fresh()} = store_ptr_tko weak {pointers}, {value}{extra} : {pointer}, {text_of(type)}{types} -> token")

    def atomic(self) -> None:
        rng = self.rng
        array = rng.choice(("a", "b", "d", "e", "l", "h"))
        element = ARRAYS[array]
        type = (rng.choice(_SHAPES), element)
        value = self.want(type)
        pointers = self.pointers(array, type[0])
        pointer = text_of((type[0], f"ptr<{element}>"))
        mode = rng.choice(("addf", "xchg") if element in ("f32", "f64") else ("addf",) if element == "f16" else ("add", "max", "umin", "xor", "xchg"))
        name = self.fresh()
        self.lines.append(
            f"{name}, {self.fresh()} = atomic_rmw_tko relaxed device {pointers}, {mode}, {value} : {pointer}, "
            f"{text_of(type)} -> {text_of(type)}, token"
        )
        self.know(name, type)

    # --- tiles ---

    def any_tile(self, elements: tuple[str, ...] = (*_FLOATS, *_INTEGERS)) -> tuple[str, Type]:
        rng = self.rng
        known = [(name, type) for name, type in self.all_known() if type[0] and type[1] in elements]
        if known and rng.random() < 0.8:
            return known[-1 - min(int(rng.expovariate(0.3)), len(known) - 1)]
        type = (rng.choice(_SHAPES), rng.choice(elements))
        return self.make(type), type

    def elementwise(self) -> None:
        rng = self.rng
        value, type = self.any_tile()
        word = text_of(type)
        if type[1].startswith("f"):
            kind = rng.choice(("addf", "subf", "mulf", "maxf", "minf", "exp", "negf", "absf", "fma", "select", "divf", "to"))
        else:
            kind = rng.choice(("addi", "subi", "muli", "andi", "xori", "maxi", "select", "to"))
        if kind in ("exp", "negf", "absf"):
            self.emit(f"{kind} {value} : {word}", type)
        elif kind == "fma":
            self.emit(f"fma {value}, {self.want(type)}, {self.want(type)} : {word}", type)
        elif kind == "select":
            mask = self.want((type[0], "i1"))
            self.emit(f"select {mask}, {value}, {self.want(type)} : {text_of((type[0], 'i1'))}, {word}", type)
        elif kind == "to":
            self.converted(value, type)
        else:
            pair = [value, self.want(type)]
            rng.shuffle(pair)
            extra = " signed" if kind == "maxi" else ""
            self.emit(f"{kind} {pair[0]}, {pair[1]}{extra} : {word}", type)

    def converted(self, value: str, type: Type) -> None:
        shape, element = type
        target = self.rng.choice([kind for kind in ("f32", "f16", "i32", "i64", "i8") if kind != element])
        result = (shape, target)
        widths = {"i8": 8, "i32": 32, "i64": 64}
        if element.startswith("f"):
            if not target.startswith("f"):
                return
            text = f"ftof {value}"
        elif target.startswith("f"):
            text = f"itof {value} signed"
        else:
            text = f"exti {value} signed" if widths[target] > widths[element] else f"trunci {value}"
        self.emit(f"{text} : {text_of(type)} -> {text_of(result)}", result)

    def reshaped(self, value: str, type: Type, shape: Shape) -> str:
        result = (shape, type[1])
        return self.emit(f"reshape {value} : {text_of(type)} -> {text_of(result)}", result)

    def moved(self) -> None:
        """Another arrangement of a tile's elements."""
        rng = self.rng
        value, type = self.any_tile((*_FLOATS, *_INTEGERS, "i1"))
        shape, element = type
        kind = rng.choice(("reshape", "permute", "broadcast", "extract", "insert", "cat"))
        if kind == "reshape":
            options = [other for other in _SHAPES if _count(other) == _count(shape)]
            if options:
                self.reshaped(value, type, rng.choice(options))
        elif kind == "permute" and len(shape) > 1:
            axes = list(range(len(shape)))
            rng.shuffle(axes)
            result: Type = (tuple([shape[axis] for axis in axes]), element)
            self.emit(f"permute {value} [{', '.join(map(str, axes))}] : {text_of(type)} -> {text_of(result)}", result)
        elif kind == "broadcast":
            options = [
                other
                for other in _SHAPES
                if len(other) == len(shape) and all(new == old or old == 1 for new, old in zip(other, shape, strict=True))
            ]
            if options:
                result = (rng.choice(options), element)
                self.emit(f"broadcast {value} : {text_of(type)} -> {text_of(result)}", result)
        elif kind in ("extract", "insert"):
            part = tuple([rng.choice([size for size in (1, 2, 4, 8, extent) if size <= extent]) for extent in shape])
            indices = ", ".join([self.bounded(extent // size) for extent, size in zip(shape, part, strict=True)])
            if kind == "extract":
                self.emit(f"extract {value}[{indices}] : {text_of(type)} -> {text_of((part, element))}", (part, element))
            else:
                small = self.want((part, element))
                self.emit(f"insert {small}, {value}[{indices}] : {text_of((part, element))}, {text_of(type)}", type)
        elif kind == "cat" and _count(shape) <= 256:
            axis = rng.randrange(len(shape))
            result = (tuple([extent * 2 if place == axis else extent for place, extent in enumerate(shape)]), element)
            other = self.want(type)
            self.emit(f"cat {value}, {other} dim = {axis} : {text_of(type)}, {text_of(type)} -> {text_of(result)}", result)

    def reduction(self) -> None:
        rng = self.rng
        value, type = self.any_tile(("f32", "f32", "i32", "f16", "i8"))
        shape, element = type
        axis = rng.randrange(len(shape))
        scan = rng.random() < 0.4
        result = type if scan else (tuple([extent for place, extent in enumerate(shape) if place != axis]), element)
        floating = element.startswith("f")
        scalar = f"tile<{element}>"
        add, most = ("addf", "maxf {}, {}") if floating else ("addi", "maxi {}, {} signed")
        first, second = self.fresh(), self.fresh()
        lines = []
        kind = rng.choice(("sum", "most", "crooked", "branch", "outside"))
        made = self.fresh()
        if kind == "sum":
            lines.append(f"{made} = {add} {first}, {second} : {scalar}")
        elif kind == "most":
            lines.append(f"{made} = {most.format(first, second)} : {scalar}")
        elif kind == "crooked":
            half, part = self.fresh(), self.fresh()
            lines.append(f"{half} = constant <{element}: {'0.5' if floating else '3'}> : {scalar}")
            lines.append(f"{part} = {'mulf' if floating else 'muli'} {second}, {half} : {scalar}")
            lines.append(f"{made} = {'subf' if floating else 'subi'} {first}, {part} : {scalar}")
        elif kind == "outside":
            other, part = self.want(((), element)), self.fresh()
            lines.append(f"{part} = {add} {first}, {other} : {scalar}")
            lines.append(f"{made} = {most.format(part, second)} : {scalar}")
        else:
            condition, more = self.fresh(), self.fresh()
            compare = "cmpf greater_than ordered {}, {}" if floating else "cmpi greater_than {}, {}, signed"
            lines.append(f"{condition} = {compare.format(first, second)} : {scalar} -> tile<i1>")
            lines.append(f"{made} = if {condition} -> ({scalar}) {{ yield {first} : {scalar} }} else {{")
            lines.append(f"{more} = {add} {first}, {second} : {scalar}\nyield {more} : {scalar} }}")
        body = "\n".join([*lines, f"yield {made} : {scalar}"])
        word = "scan" if scan else "reduce"
        reverse = f"reverse={rng.choice(('true', 'false'))} " if scan else ""
        self.emit(
            f"{word} {value} dim={axis} {reverse}identities=[{'0.0' if floating else '0'} : {element}] : {text_of(type)} -> "
            f"{text_of(result)} ({first}: {scalar}, {second}: {scalar}) {{\n{body}\n}}",
            result,
        )

    def argument_of_the_most(self) -> None:
        """A reduction of two tiles at once."""
        rng = self.rng
        value, type = self.any_tile(("f32", "f16"))
        shape, element = type
        axis = rng.randrange(len(shape))
        places = self.want((shape, "i32"))
        rest = tuple([extent for place, extent in enumerate(shape) if place != axis])
        a, b, i, j, more, x, y, most, where = (self.fresh() for _ in range(9))
        scalar = f"tile<{element}>"
        self.lines.append(
            f"{most}, {where} = reduce {value}, {places} dim={axis} identities=[0.0 : {element}, 0 : i32] : "
            f"{text_of(type)}, {text_of((shape, 'i32'))} -> {text_of((rest, element))}, {text_of((rest, 'i32'))} "
            f"({a}: {scalar}, {b}: {scalar}, {i}: tile<i32>, {j}: tile<i32>) {{\n"
            f"{more} = cmpf greater_than ordered {a}, {b} : {scalar} -> tile<i1>\n"
            f"{x} = select {more}, {a}, {b} : tile<i1>, {scalar}\n"
            f"{y} = select {more}, {i}, {j} : tile<i1>, tile<i32>\nyield {x}, {y} : {scalar}, tile<i32> }}"
        )
        self.know(most, (rest, element))
        self.know(where, (rest, "i32"))

    def accumulation(self, size: int) -> None:
        """A loop around a product that adds to what it carries, which may be wanted for other things too."""
        rng = self.rng
        m, n, k = (rng.choice((4, 8, 16)) for _ in range(3))
        sum: Type = ((m, n), "f32")
        carried, other, variable, result, rest = (self.fresh() for _ in range(5))
        initial, second = self.want(sum), self.want(sum)
        word = text_of(sum)
        self.lines.append(
            f"{result}, {rest} = for unsigned {variable} in (%zero to %three, step %one) : tile<i32> "
            f"iter_values({carried} = {initial}, {other} = {second}) -> ({word}, {word}) {{"
        )
        self.loops.append(([sum, sum], None, None))
        self.scopes.append({})
        self.know(variable, ((), "i32"))
        for name in (carried, other):
            self.know(name, sum)
        self.depth += 1
        self.statements(size // 2)
        left, right = self.want(((m, k), "f32")), self.want(((k, n), "f32"))
        total = rng.choice((carried, carried, carried, self.want(sum)))
        made = self.fresh()
        self.lines.append(
            f"{made} = mmaf {left}, {right}, {total} : {text_of(((m, k), 'f32'))}, {text_of(((k, n), 'f32'))}, {word}"
        )
        if rng.random() < 0.5:
            self.know(made, sum)
        self.statements(size // 2)
        pair = rng.choice(([made, self.want(sum)], [made, other], [self.want(sum), made], [other, carried]))
        self.lines.append(f"continue {pair[0]}, {pair[1]} : {word}, {word}")
        self.depth -= 1
        self.scopes.pop()
        self.loops.pop()
        self.lines.append("}")
        for name in (result, rest):
            self.know(name, sum)

    def product(self) -> None:
        rng = self.rng
        m, n, k = (rng.choice((4, 8, 16)) for _ in range(3))
        batch = rng.choice(((), (), (), (2,)))
        kind = rng.choice(("f32", "f32", "f16", "i8"))
        total = "i32" if kind == "i8" else "f32"
        left, right, sum = ((*batch, m, k), kind), ((*batch, k, n), kind), ((*batch, m, n), total)
        names = [self.want(type) for type in (left, right, sum)]
        word = "mmai" if kind == "i8" else "mmaf"
        extra = " signed signed" if kind == "i8" else ""
        self.emit(
            f"{word} {names[0]}, {names[1]}, {names[2]}{extra} : {text_of(left)}, {text_of(right)}, {text_of(sum)}", sum
        )

    # --- control flow ---

    def region(self, size: int, end: Callable[[], None]) -> None:
        self.scopes.append({})
        self.depth += 1
        self.statements(size)
        end()
        self.depth -= 1
        self.scopes.pop()

    def carried_types(self, most: int = 3) -> list[Type]:
        rng = self.rng
        known = [type for _, type in self.all_known() if type[1] != "i1"]
        found = []
        for _ in range(rng.randrange(most + 1)):
            if known and rng.random() < 0.8:
                found.append(rng.choice(known))
            else:
                found.append((rng.choice(_SHAPES), rng.choice((*_FLOATS, *_INTEGERS))))
        return found

    def results_of(self, types: list[Type]) -> tuple[str, list[str]]:
        names = [self.fresh() for _ in types]
        return (f"{', '.join(names)} = " if names else ""), names

    def listed(self, word: str, types: list[Type], extra: list[tuple[str, str]] | None = None) -> str:
        """A terminator with values of some types."""
        names = [name for name, _ in extra or []] + [self.want(type) for type in types]
        words = [word for _, word in extra or []] + [text_of(type) for type in types]
        return f"{word} {', '.join(names)} : {', '.join(words)}" if names else word

    def branch(self, size: int) -> None:
        rng = self.rng
        condition = self.want(((), "i1"))
        types = self.carried_types()
        left, names = self.results_of(types)
        arrow = f" -> ({', '.join(map(text_of, types))})" if types else ""
        self.lines.append(f"{left}if {condition}{arrow} {{")
        leaving = bool(self.loops) and rng.random() < 0.3

        def end(leave: bool) -> Callable[[], None]:
            return lambda: self.leave() if leave else self.lines.append(self.listed("yield", types))

        self.region(size, end(leaving))
        if types or rng.random() < 0.5:
            self.lines.append("} else {")
            self.region(size, end(False))
        self.lines.append("}")
        for name, type in zip(names, types, strict=True):
            self.know(name, type)

    def leave(self) -> None:
        """Go on with the next turn of the innermost loop, or end it."""
        carried, results, counter = self.loops[-1]
        extra = []
        if counter is not None:
            following = self.fresh()
            self.lines.append(f"{following} = addi {counter}, %one : tile<i32>")
            extra = [(following, "tile<i32>")]
        if results is not None and self.rng.random() < 0.5:
            self.lines.append(self.listed("break", results))
        else:
            self.lines.append(self.listed("continue", carried, extra))

    def counted(self, size: int) -> None:
        rng = self.rng
        types = self.carried_types()
        initial = [self.want(type) for type in types]
        arguments = [self.fresh() for _ in types]
        left, names = self.results_of(types)
        carried = ""
        if types:
            pairs = ", ".join([f"{name} = {value}" for name, value in zip(arguments, initial, strict=True)])
            carried = f" iter_values({pairs}) -> ({', '.join(map(text_of, types))})"
        variable = self.fresh()
        upper = rng.choice(("%two", "%three", "%n", "%zero"))
        self.lines.append(f"{left}for {variable} in (%zero to {upper}, step %one) : tile<i32>{carried} {{")
        self.loops.append((types, None, None))
        self.scopes.append({})
        self.know(variable, ((), "i32"))
        for name, type in zip(arguments, types, strict=True):
            self.know(name, type)
        self.region(size, lambda: self.lines.append(self.listed("continue", types)))
        self.scopes.pop()
        self.loops.pop()
        self.lines.append("}")
        for name, type in zip(names, types, strict=True):
            self.know(name, type)

    def endless(self, size: int) -> None:
        """A `loop` that a counter ends."""
        types, results = self.carried_types(2), self.carried_types(2)
        initial = [self.want(type) for type in types]
        arguments = [self.fresh() for _ in types]
        counter = self.fresh()
        left, names = self.results_of(results)
        pairs = ", ".join([f"{counter} = %zero", *[f"{a} = {b}" for a, b in zip(arguments, initial, strict=True)]])
        kinds = ", ".join(["tile<i32>", *map(text_of, types)])
        arrow = f" -> {', '.join(map(text_of, results))}" if results else ""
        self.lines.append(f"{left}loop iter_values({pairs}) : {kinds}{arrow} {{")
        self.loops.append((types, results, counter))
        self.scopes.append({})
        self.know(counter, ((), "i32"))
        for name, type in zip(arguments, types, strict=True):
            self.know(name, type)

        def end() -> None:
            done = self.fresh()
            self.lines.append(f"{done} = cmpi greater_than_or_equal {counter}, %two, signed : tile<i32> -> tile<i1>")
            self.lines.append(f"if {done} {{")
            self.region(1, lambda: self.lines.append(self.listed("break", results)))
            self.lines.append("}")
            following = self.fresh()
            self.lines.append(f"{following} = addi {counter}, %one : tile<i32>")
            self.lines.append(self.listed("continue", types, [(following, "tile<i32>")]))

        # The counter is tested last: a `continue` before it must not go round for ever.
        early = self.fresh()
        self.lines.append(f"{early} = cmpi greater_than %{counter[1:]}, %three, signed : tile<i32> -> tile<i1>")
        self.lines.append(f"if {early} {{")
        self.region(0, lambda: self.lines.append(self.listed("break", results)))
        self.lines.append("}")
        self.region(size, end)
        self.scopes.pop()
        self.loops.pop()
        self.lines.append("}")
        for name, type in zip(names, results, strict=True):
            self.know(name, type)

    # --- the whole ---

    def statements(self, count: int) -> None:
        rng = self.rng
        for _ in range(count):
            kind = rng.random()
            if kind < 0.4:
                self.elementwise()
            elif kind < 0.55:
                self.moved()
            elif kind < 0.63:
                self.reduction()
            elif kind < 0.65:
                self.argument_of_the_most()
            elif kind < 0.7:
                self.product()
            elif kind < 0.77:
                self.store_view()
            elif kind < 0.82:
                self.store_pointers()
            elif kind < 0.84:
                self.atomic()
            elif self.depth < 3:
                inner = max(2, count // 3)
                rng.choice((self.branch, self.counted, self.counted, self.endless, self.accumulation))(inner)

    def expose(self) -> None:
        """Store what is known at the end, each tile in its own place."""
        used = dict.fromkeys(OUTPUTS, 0)
        for name, (shape, element) in self.all_known():
            count = _count(shape)
            if element not in used or used[element] + count > ROOM:
                continue
            line, pointer = (count,), f"ptr<{element}>"
            flat, base, places, moved, target = (self.fresh() for _ in range(5))
            self.lines += [
                f"{flat} = reshape {name} : {text_of((shape, element))} -> {text_of((line, element))}",
                f"{base} = broadcast %base_{element} : tile<1x{pointer}> -> {text_of((line, pointer))}",
                f"{places} = iota : {text_of((line, 'i32'))}",
                f"{moved} = constant <i32: {used[element]}> : {text_of((line, 'i32'))}",
                f"{target} = addi {places}, {moved} : {text_of((line, 'i32'))}",
                f"{target}p = offset {base}, {target} : {text_of((line, pointer))}, {text_of((line, 'i32'))} -> {text_of((line, pointer))}",
                f"{target}t = store_ptr_tko weak {target}p, {flat} : {text_of((line, pointer))}, {text_of((line, element))} -> token",
            ]
            used[element] += count

    def run(self) -> str:
        arguments = [f"%{name}: tile<ptr<{element}>>" for name, element in ARRAYS.items()]
        arguments += [f"%o{element}: tile<ptr<{element}>>" for element in OUTPUTS]
        arguments += ["%n: tile<i32>", "%s: tile<f32>", "%none: tile<i64>"]
        lines = self.lines
        lines.append("%bx, %by, %bz = get_tile_block_id : tile<i32>")
        lines.append("%gx, %gy, %gz = get_num_tile_blocks : tile<i32>")
        for name, value in (("zero", 0), ("one", 1), ("two", 2), ("three", 3), ("room", ROOM)):
            lines.append(f"%{name} = constant <i32: {value}> : tile<i32>")
        lines += ["%row = muli %by, %gx : tile<i32>", "%block = addi %row, %bx : tile<i32>"]
        lines.append("%first = muli %block, %room : tile<i32>")
        for element in OUTPUTS:
            pointer = f"ptr<{element}>"
            lines.append(f"%start_{element} = offset %o{element}, %first : tile<{pointer}>, tile<i32> -> tile<{pointer}>")
            lines.append(f"%base_{element} = reshape %start_{element} : tile<{pointer}> -> tile<1x{pointer}>")
        for name in ("bx", "by", "block", "n", "one", "two"):
            self.know(f"%{name}", ((), "i32"))
        self.know("%s", ((), "f32"))
        self.declare_views()
        self.statements(self.size)
        self.expose()
        text = "\n".join(lines)
        return f"cuda_tile.module @m {{ entry @k({', '.join(arguments)}) {{\n{text}\nreturn }} }}"


def stress_program(seed: int, size: int = 20) -> str:
    """The text of a random kernel."""
    return Stress(Random(seed), size).run()
