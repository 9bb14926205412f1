"""Random whole kernels of the kind users write: norms, softmaxes, elementwise chains, sums along rows, products.

Tiles lie in tensors of any layout, over their edges, through views or through pointers; what a kernel writes may be what it
reads.  Every access stays in its array, and tile blocks write apart from each other, but where `is_racy` says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from tests.execute.cpu.kernel_values import KernelValues
from tests.execute.cpu.stress_values import Shape, count_of

MOST_ELEMENTS = 1 << 16
"""What all tile blocks of an elementwise kernel compute together, about; the interpreter has to do it too."""
ALL = ("f32", "f32", "f32", "f16", "bf16", "f64", "i32", "i8", "i1", "f8E4M3FN", "f8E5M2")
BYTES = {"f64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2}


@dataclass
class Array:
    """An argument: a part of some memory, that begins so many elements after a multiple of 64 bytes."""

    element: str
    count: int
    start: int
    memory: int


@dataclass
class WholeKernel:
    text: str
    grid: tuple[int, int, int]
    arguments: list[Array | int]
    is_racy: bool
    """Whether what tile blocks write depends on which of them come first."""


@dataclass
class Access:
    """One way to a tensor: how its tiles are addressed, and where its elements lie."""

    array: str
    element: str
    tile: Shape
    extents: list[int]
    strides: list[int]
    steps: list[int]
    order: list[int]
    """For each dimension of the tile the one of the tensor."""
    index: list[str]
    through: str
    """`partition`, `strided` or `pointers`."""
    padding: str
    view: str = ""
    type: str = ""
    shown: list[tuple[str, str]] = field(default_factory=list)
    """Extent and stride of each dimension as the program names them."""


class KernelWriter(KernelValues):
    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self.arguments: list[Array | int] = []
        self.parameters: list[str] = []
        self.memories = 0
        self.is_racy = False
        self.grid = [1, 1, 1]

    # --- arguments ---

    def number(self, value: int) -> tuple[str, str]:
        """A number as the program may say it: what stands in a type, and in an operation."""
        if value and self.rng.random() < 0.5:
            return str(value), str(value)
        name = f"%n{len(self.parameters)}"
        self.parameters.append(f"{name}: tile<i32>")
        self.arguments.append(value)
        return "?", name

    def array(self, element: str, count: int, shared: Array | None = None, shift: int = 0) -> str:
        rng = self.rng
        name = f"%a{len(self.parameters)}"
        self.parameters.append(f"{name}: tile<ptr<{element}>>")
        if shared is None:
            start = rng.choice((0, 0, rng.randrange(64), 16 // BYTES.get(element, 1)))
            self.arguments.append(Array(element, count, start, self.memories))
            self.memories += 1
        else:
            self.arguments.append(Array(element, count, shared.start + shift, shared.memory))
        return name

    # --- tensors ---

    def place(self, tile: Shape, index: list[str], last: list[int], element: str, is_written: bool) -> Access:
        """A new tensor whose tiles `index`, up to `last`, can be accessed."""
        rng = self.rng
        rank = len(tile)
        through = rng.choice(("partition",) * 6 + ("strided", "pointers"))
        steps = list(tile)
        if through == "strided":
            # Tiles that are written must not meet.
            steps = [extent + rng.choice((0, 0, 1, 5) if is_written else (0, 1, 7, -(extent // 2))) for extent in tile]
        extents = []
        for extent, step, most in zip(tile, steps, last, strict=True):
            inside = rng.random() < 0.55
            extents.append(most * step + (extent if inside else rng.randint(1, extent)) + (rng.random() < 0.05) * 3)
        fastest_last = list(range(rank - 1, -1, -1))
        nearest = fastest_last if rng.random() < 0.75 else rng.sample(fastest_last, rank)
        strides = [0] * rank
        step = 1 if rng.random() < 0.93 else rng.choice((2, 3))
        for axis in nearest:
            strides[axis] = step
            step *= extents[axis]
            step += rng.choice((0, 0, 1, 3, 16, -step % 64, -step % 64))
        if not is_written and rng.random() < 0.15:
            strides[rng.randrange(rank)] = 0
        order = list(range(rank)) if rng.random() < 0.8 else rng.sample(range(rank), rank)
        kinds = ("zero",) if element[0] == "i" else ("zero", "zero", "neg_zero", "nan", "pos_inf", "neg_inf")
        return Access("", element, tile, extents, strides, steps, order, index, through, rng.choice(kinds))

    def size_of(self, access: Access) -> int:
        return 1 + sum([(extent - 1) * stride for extent, stride in zip(access.extents, access.strides, strict=True)])

    def make_view(self, access: Access) -> None:
        """Write down what makes the view."""
        rank = len(access.tile)
        access.shown = [("", "")] * rank
        shapes, strides, known = [""] * rank, [""] * rank, [["", ""] for _ in range(rank)]
        for axis in range(rank):
            place = access.order[axis]
            known[place][0], shapes[place] = self.number(access.extents[axis])
            stride = access.strides[axis]
            # Neighbors are known to be neighbors, mostly.
            told = (str(stride), str(stride)) if stride == 1 and self.rng.random() < 0.9 else self.number(stride)
            known[place][1], strides[place] = told
            access.shown[axis] = shapes[place], strides[place]
        if access.through == "pointers":
            return
        tensor = f"tensor_view<{'x'.join([a for a, _ in known])}x{access.element}, strides=[{','.join([b for _, b in known])}]>"
        dynamic = any("?" in pair for pair in known)
        view = self.fresh()
        self.lines.append(
            f"{view} = make_tensor_view {access.array}, shape = [{', '.join(shapes)}], strides = [{', '.join(strides)}] : "
            f"{'tile<i32> -> ' if dynamic else ''}{tensor}"
        )
        word = "partition_view"
        parts = [f"tile=({'x'.join(map(str, access.tile))})"]
        if access.through == "strided":
            word = "strided_view"
            parts.append(f"traversal_strides=[{','.join(map(str, access.steps))}]")
        parts += [f"padding_value = {access.padding}", tensor]
        if access.order != sorted(access.order):
            parts.append(f"dim_map=[{', '.join(map(str, access.order))}]")
        access.type = f"{word}<{', '.join(parts)}>"
        access.view = self.fresh()
        self.lines.append(f"{access.view} = make_{word} {view} : {access.type}")

    def read(self, access: Access, index: list[str] | None = None) -> str:
        """The tile of an access in its own type."""
        index = access.index if index is None else index
        type = (access.tile, access.element)
        name, token, word = self.fresh(), self.fresh(), self.word(type)
        if access.through == "pointers":
            pointers, mask = self.pointers(access, index)
            other = self.constant_of(type, 1)
            self.lines.append(
                f"{name}, {token} = load_ptr_tko weak {pointers}, {mask}, {other} : "
                f"{self.word((access.tile, f'ptr<{access.element}>'))}, {self.word((access.tile, 'i1'))}, {word} -> {word}, token"
            )
        else:
            self.lines.append(
                f"{name}, {token} = load_view_tko weak {access.view}[{', '.join(index)}] : {access.type}, tile<i32> -> {word}, token"
            )
        return name

    def write(self, access: Access, value: str, index: list[str] | None = None) -> None:
        index = access.index if index is None else index
        word = self.word((access.tile, access.element))
        token = self.fresh()
        if access.through == "pointers":
            pointers, mask = self.pointers(access, index)
            self.lines.append(
                f"{token} = store_ptr_tko weak {pointers}, {value}, {mask} : "
                f"{self.word((access.tile, f'ptr<{access.element}>'))}, {word}, {self.word((access.tile, 'i1'))} -> token"
            )
        else:
            self.lines.append(
                f"{token} = store_view_tko weak {value}, {access.view}[{', '.join(index)}] : {word}, {access.type}, tile<i32> -> token"
            )

    def pointers(self, access: Access, index: list[str]) -> tuple[str, str]:
        """A tile of pointers, and which of them are in the tensor."""
        word = self.word((access.tile, "i32"))
        where = mask = ""
        for axis, extent in enumerate(access.tile):
            place = self.lanes(access.tile, axis, "i32")
            first = self.filled(
                self.operation(f"muli {index[axis]}, {self.scalar_of(str(extent))} : tile<i32>"), access.tile
            )
            place = self.operation(f"addi {place}, {first} : {word}")
            limit, stride = (self.filled(self.scalar_of(text), access.tile) for text in access.shown[axis])
            inside = self.operation(
                f"cmpi less_than {place}, {limit}, signed : {word} -> {self.word((access.tile, 'i1'))}"
            )
            far = self.operation(f"muli {place}, {stride} : {word}")
            mask = self.operation(f"andi {mask}, {inside} : {self.word((access.tile, 'i1'))}") if mask else inside
            where = self.operation(f"addi {where}, {far} : {word}") if where else far
        pointer = f"ptr<{access.element}>"
        base = self.filled(access.array, access.tile, pointer)
        full = self.word((access.tile, pointer))
        return self.operation(f"offset {base}, {where} : {full}, {word} -> {full}"), mask

    # --- kernels ---

    def indices(self, rank: int) -> tuple[list[str], list[int]]:
        """For each dimension of a tile its index, and the largest that it becomes; every tile block has its own tile."""
        rng = self.rng
        index, last = ["%zero"] * rank, [0] * rank
        axes = rng.sample(range(rank), rank)
        for axis, block in zip(axes, ("%x", "%y", "%z"), strict=False):
            most = self.grid["%x%y%z".index(block) // 2] - 1
            kind = rng.random()
            if kind < 0.1:
                index[axis] = self.operation(f"addi {block}, %one : tile<i32>")
                most += 1
            elif kind < 0.15:
                index[axis] = self.operation(f"muli {block}, %two : tile<i32>")
                most *= 2
            else:
                index[axis] = block
            last[axis] = most
        return index, last

    def tile_shape(self, widest: int) -> Shape:
        """Rows of 64 bytes to 32 KiB."""
        rng = self.rng
        row = rng.choice((64, 128, 256, 512, 1024, 2048, 2048, 4096, 4096, 8192, 16384, 32768)) // widest
        rank = rng.choice((1, 2, 2, 2, 3))
        if rank == 1:
            return (row,)
        rows = rng.choice([count for count in (1, 1, 2, 4, 8, 16, 32, 64) if count * row <= 8192 or count == 1])
        if rng.random() < 0.1:
            rows, row = row, rows
        return (rows, row) if rank == 2 else (rng.choice((1, 1, 1, 2)), rows, row)

    def make_grid(self, most: int, axes: int) -> None:
        rng = self.rng
        for axis in range(rng.randint(1, axes)):
            room = most // count_of(tuple(self.grid))
            self.grid[axis] = rng.randint(1, max(1, min(room, rng.choice((3, 7, 40)))))

    def rows(self) -> None:
        """Elementwise chains, norms and the like of tiles of one shape."""
        rng = self.rng
        compute = rng.choice(("f32",) * 6 + ("f16", "bf16", "f64", "i32"))
        tile = self.tile_shape(BYTES[compute])
        self.make_grid(max(1, MOST_ELEMENTS // count_of(tile)), len(tile))
        index, last = self.indices(len(tile))
        inputs: list[Access] = []
        for _ in range(rng.randint(1, 3)):
            element = compute if rng.random() < 0.6 else rng.choice(ALL)
            where, most = (index, last) if rng.random() < 0.8 else (["%zero"] * len(tile), [0] * len(tile))
            access = self.place(tile, where, most, element, False)
            # The same tile for all, which is repeated along some dimensions, as weights are.
            if where is not index and rng.random() < 0.7:
                access = self.place(tuple([1 if rng.random() < 0.5 else e for e in tile]), where, most, element, False)
            access.array = self.array(element, self.size_of(access))
            self.make_view(access)
            inputs.append(access)
        outputs = self.outputs(tile, index, last, compute, inputs)
        self.compute = compute
        self.shape = tile
        self.inputs = [lambda access=access: self.spread_out(access) for access in inputs]  # type: ignore[misc]
        self.values = [make() for make in self.inputs]
        for access in outputs:
            for _ in range(rng.randint(1, 7)):
                self.step()
            self.write(access, self.stored(self.values[-1], access.element))

    def spread_out(self, access: Access) -> str:
        value = self.converted_to(self.read(access), access.tile, access.element, self.compute)
        if access.tile != self.shape:
            value = self.operation(
                f"broadcast {value} : {self.word((access.tile, self.compute))} -> {self.word((self.shape, self.compute))}"
            )
        return value

    def stored(self, value: str, element: str) -> str:
        return self.converted_to(value, self.shape, self.compute, element)

    def outputs(
        self, tile: Shape, index: list[str], last: list[int], compute: str, inputs: list[Access]
    ) -> list[Access]:
        rng = self.rng
        found: list[Access] = []
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            own = [
                access for access in inputs if access.index is index and access.tile == tile and self.lies_apart(access)
            ]
            own += found
            sharing = rng.random()
            if own and sharing < 0.25:
                # In place, over another result, or a little beside it.
                source = rng.choice(own)
                shift = 0 if sharing < 0.15 else rng.choice((1, 2, 5, 16, tile[-1]))
                access = replace(source)
                if shift or rng.random() < 0.5:
                    given = self.arguments[int(source.array[2:])]
                    assert isinstance(given, Array)
                    access.array = self.array(source.element, given.count, given, shift)
                    self.is_racy = self.is_racy or shift > 0
                    self.make_view(access)
            else:
                access = self.place(tile, index, last, compute if rng.random() < 0.7 else rng.choice(ALL), True)
                access.array = self.array(access.element, self.size_of(access))
                self.make_view(access)
            found.append(access)
        return found

    def lies_apart(self, access: Access) -> bool:
        """Whether no tile of a tensor that is read has elements of another."""
        return 0 not in access.strides and all(
            step >= extent for step, extent in zip(access.steps, access.tile, strict=True)
        )

    def sweep(self) -> None:
        """Long rows in pieces: one loop for a sum of each row, another for the result."""
        rng = self.rng
        compute = rng.choice(("f32", "f32", "f32", "f16", "bf16", "f64", "i32"))
        rows, row = rng.choice(((1, 256), (1, 1024), (4, 64), (16, 16), (2, 512), (8, 128)))
        tile = (rows, row)
        self.grid[0] = rng.randint(1, 9)
        pieces = rng.randint(1, 4)
        index, last = ["%x", "%i"], [self.grid[0] - 1, pieces - 1]
        source = self.place(tile, index, last, compute if rng.random() < 0.6 else rng.choice(ALL), False)
        source.array = self.array(source.element, self.size_of(source))
        self.make_view(source)
        if rng.random() < 0.2 and self.lies_apart(source):
            target = source
        else:
            target = self.place(tile, index, last, compute if rng.random() < 0.7 else rng.choice(ALL), True)
            target.array = self.array(target.element, self.size_of(target))
            self.make_view(target)
        self.compute, self.shape = compute, tile
        word = self.word((tile, compute))
        end = self.scalar_of(self.number(pieces)[1])
        start, total, carried = self.constant_of((tile, compute), 0), self.fresh(), self.fresh()
        loop = f"for %i in (%zero to {end}, step %one) : tile<i32>"
        self.lines.append(f"{total} = {loop} iter_values({carried} = {start}) -> ({word}) {{")
        self.inputs, self.values = [], [self.spread_out(source)]
        for _ in range(rng.randint(0, 3)):
            self.step()
        kind = rng.choice(("addf", "maxf") if compute[0] != "i" else ("addi", "xori"))
        added = self.operation(f"{kind} {carried}, {self.values[-1]} : {word}")
        self.lines.append(f"continue {added} : {word}\n}}")
        sums = self.reduced(total, 1)
        self.lines.append(f"{loop} {{")
        self.inputs = [lambda: self.spread_out(source)]
        self.values = [sums, self.spread_out(source)]
        for _ in range(rng.randint(1, 4)):
            self.step()
        self.write(target, self.stored(self.values[-1], target.element))
        self.lines.append("continue\n}")

    def product(self) -> None:
        """A matrix product over all of k, and what is done with its result."""
        rng = self.rng
        kind, total = rng.choice(
            (("f32", "f32"), ("f32", "f32"), ("bf16", "f32"), ("bf16", "f32"), ("i8", "i32"), ("i8", "i32"), ("f16", "f32"),
             ("f16", "f16"), ("f64", "f64"), ("f8E4M3FN", "f32"))
        )  # fmt: skip
        m, n = (rng.choice((1, 4, 16, 16, 32, 64)) for _ in range(2))
        k = rng.choice((1, 8, 16, 32, 64, 64, 128))
        pieces = rng.randint(1, 4)
        if kind == "i8" and rng.random() < 0.6:
            # What matrix units take.
            m, n, k = rng.choice((16, 32, 64, 128)), rng.choice((16, 64, 256, 256, 512)), rng.choice((64, 64, 128, 256))
            pieces = rng.choice((1, 3, 16, 17))
        if kind in ("bf16", "f16", "f8E4M3FN") and rng.random() < 0.5:
            # Those too, with less to do for the interpreter.
            m, n, k, pieces = rng.choice((16, 32)), rng.choice((16, 64)), rng.choice((32, 64)), rng.choice((1, 3, 5))
        self.grid[:2] = [rng.randint(1, 4), rng.randint(1, 3)]
        row, column, rows, columns = "%x", "%y", self.grid[0], self.grid[1]
        if rng.random() < 0.3:
            self.grid[:2] = [rows * columns, 1]
            across = self.scalar_of(str(columns))
            row = self.operation(f"divi %x, {across} signed : tile<i32>")
            column = self.operation(f"remi %x, {across} signed : tile<i32>")
        left = self.place((m, k), [row, "%i"], [rows - 1, pieces - 1], kind, False)
        right = self.place((k, n), ["%i", column], [pieces - 1, columns - 1], kind, False)
        target = self.place(
            (m, n), [row, column], [rows - 1, columns - 1], total if rng.random() < 0.6 else rng.choice(ALL), True
        )
        more = [self.place((1, n), ["%zero", column], [0, columns - 1], total, False)] if rng.random() < 0.3 else []
        for access in (left, right, *more, target):
            # Padding that is no number leaves none.
            access.padding = "zero"
            access.array = self.array(access.element, self.size_of(access))
            self.make_view(access)
        self.compute, self.shape = total, (m, n)
        word = self.word(((m, n), total))
        types = f"{self.word(((m, k), kind))}, {self.word(((k, n), kind))}, {word}"
        end = self.scalar_of(self.number(pieces)[1])
        result, carried, start = self.fresh(), self.fresh(), self.constant_of(((m, n), total), rng.choice((0, 0, 1)))
        self.lines.append(
            f"{result} = for %i in (%zero to {end}, step %one) : tile<i32> iter_values({carried} = {start}) -> ({word}) {{"
        )
        a, b = self.read(left), self.read(right)
        signs = rng.choice((" signed signed", " signed unsigned", " unsigned signed", " unsigned unsigned"))
        name, signs = ("mmai", signs) if kind == "i8" else ("mmaf", "")
        made = self.operation(f"{name} {a}, {b}, {carried}{signs} : {types}")
        self.lines.append(f"continue {made} : {word}\n}}")
        self.inputs = [lambda access=access: self.spread_out(access) for access in more]  # type: ignore[misc]
        self.values = [*[make() for make in self.inputs], result]
        for _ in range(rng.choice((0, 0, 1, 3))):
            self.step()
        self.write(target, self.stored(self.values[-1], target.element))

    def written(self) -> WholeKernel:
        body = "\n".join(self.lines)
        text = f"""cuda_tile.module @m {{ entry @k({", ".join(self.parameters)}) {{
%x, %y, %z = get_tile_block_id : tile<i32>
%zero = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%two = constant <i32: 2> : tile<i32>
{body}
return }} }}"""
        x, y, z = self.grid
        return WholeKernel(text, (x, y, z), self.arguments, self.is_racy and x * y * z > 1)


def whole_kernel(seed: int) -> WholeKernel:
    rng = Random(seed)
    writer = KernelWriter(rng)
    rng.choice((writer.rows, writer.rows, writer.rows, writer.sweep, writer.product))()
    return writer.written()


def whole_product(seed: int) -> WholeKernel:
    """One of those that multiply matrices."""
    writer = KernelWriter(Random(seed))
    writer.product()
    return writer.written()
