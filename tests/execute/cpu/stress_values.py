"""The values of a random kernel (`stress`): those there are, new ones, and what is read from and written to memory."""

from __future__ import annotations

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

SHAPES: tuple[Shape, ...] = (
    (4,), (8,), (16,), (64,), (128,), (256,), (4, 8), (8, 4), (16, 16), (8, 16), (16, 8), (1, 16), (16, 1), (128, 2),
    (2, 128), (2, 4, 8), (4, 1, 8), (1, 8, 1), (2, 8, 4), (2, 2, 4, 8), (1, 1), (1,), (2, 1, 4, 1),
)  # fmt: skip
FLOATS = ("f32", "f32", "f32", "f16")
INTEGERS = ("i32", "i32", "i64", "i8")


def text_of(type: Type) -> str:
    shape, element = type
    return f"tile<{''.join([f'{extent}x' for extent in shape])}{element}>"


def count_of(shape: Shape) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


class View:
    """A view that programs may use: its name, its type and that of its tiles; `sparse` is its listed dimension."""

    def __init__(self, name: str, type: str, tile: Type, sparse: int) -> None:
        self.name = name
        self.type = type
        self.tile = tile
        self.sparse = sparse


class Values:
    """Writes the lines of one kernel that make values and access memory."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.number = 0
        self.scopes: list[dict[Type, list[str]]] = [{}]
        self.views: list[View] = []

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
            return self.emit(
                f"cmpi {relation} {left}, {right}, signed : {text_of((shape, 'i32'))} -> {text_of(type)}", type
            )
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

    def reshaped(self, value: str, type: Type, shape: Shape) -> str:
        result = (shape, type[1])
        return self.emit(f"reshape {value} : {text_of(type)} -> {text_of(result)}", result)

    # --- memory ---

    def declare_views(self) -> None:
        rng = self.rng
        for number in range(rng.randrange(4, 9)):
            array = rng.choice(list(ARRAYS))
            element = ARRAYS[array]
            shape = rng.choice([shape for shape in SHAPES if 1 <= len(shape) <= 3])
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
            self.views.append(View(f"%w{number}", type, (shape, element), sparse))

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
            extents = [
                max(1, rng.choice((2 * extent, 2 * extent, 3 * extent - 1, extent, extent + 1, 5))) for extent in shape
            ]
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

    def index_of(self, view: View) -> tuple[str, str]:
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
        self.lines.append(
            f"{name}, {self.fresh()} = load_view_tko {ordering} {view.name}[{names}] : {view.type}, {types} -> {text_of(type)}, token"
        )
        self.know(name, type)
        return name

    def store_view(self) -> None:
        view = self.rng.choice(self.views)
        names, types = self.index_of(view)
        value = self.want(view.tile)
        ordering = self.rng.choice(("weak",) * 9 + ("release device",))
        self.lines.append(
            f"{self.fresh()} = store_view_tko {ordering} {value}, {view.name}[{names}] : {text_of(view.tile)}, {view.type}, {types} -> token"
        )

    def pointers(self, array: str, shape: Shape) -> str:
        """Pointers somewhere into an array."""
        rng = self.rng
        element = f"ptr<{ARRAYS[array]}>"
        line = (count_of(shape),)
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
        self.lines.append(
            f"{found} = offset {spread}, {inside} : {text_of((shape, element))}, {full} -> {text_of((shape, element))}"
        )
        return found

    def load_pointers(self, type: Type) -> str:
        shape, element = type
        rng = self.rng
        array = rng.choice([name for name, kind in ARRAYS.items() if kind == element])
        return self.load_from(self.pointers(array, shape), type)

    def load_from(self, pointers: str, type: Type) -> str:
        shape, element = type
        rng = self.rng
        extra, types = "", ""
        if rng.random() < 0.4:
            extra, types = f", {self.want((shape, 'i1'))}", f", {text_of((shape, 'i1'))}"
            if rng.random() < 0.5:
                extra, types = f"{extra}, {self.want(type)}", f"{types}, {text_of(type)}"
        name = self.fresh()
        pointer = text_of((shape, f"ptr<{element}>"))
        self.lines.append(
            f"{name}, {self.fresh()} = load_ptr_tko weak {pointers}{extra} : {pointer}{types} -> {text_of(type)}, token"
        )
        self.know(name, type)
        return name

    def store_pointers(self) -> None:
        rng = self.rng
        array = rng.choice(list(ARRAYS))
        type = (rng.choice(SHAPES), ARRAYS[array])
        self.store_to(self.pointers(array, type[0]), type)

    def store_to(self, pointers: str, type: Type) -> None:
        value = self.want(type)
        extra, types = "", ""
        if self.rng.random() < 0.3:
            extra, types = f", {self.want((type[0], 'i1'))}", f", {text_of((type[0], 'i1'))}"
        pointer = text_of((type[0], f"ptr<{type[1]}>"))
        self.lines.append(
            f"{self.fresh()} = store_ptr_tko weak {pointers}, {value}{extra} : {pointer}, {text_of(type)}{types} -> token"
        )

    def atomic(self) -> None:
        rng = self.rng
        array = rng.choice(("a", "b", "d", "e", "l", "h"))
        element = ARRAYS[array]
        type = (rng.choice(SHAPES), element)
        value = self.want(type)
        pointers = self.pointers(array, type[0])
        pointer = text_of((type[0], f"ptr<{element}>"))
        mode = rng.choice(
            ("addf", "xchg")
            if element in ("f32", "f64")
            else ("addf",)
            if element == "f16"
            else ("add", "max", "umin", "xor", "xchg")
        )
        name = self.fresh()
        self.lines.append(
            f"{name}, {self.fresh()} = atomic_rmw_tko relaxed device {pointers}, {mode}, {value} : {pointer}, "
            f"{text_of(type)} -> {text_of(type)}, token"
        )
        self.know(name, type)
