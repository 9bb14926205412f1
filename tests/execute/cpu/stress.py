"""Random kernels against the rules of the lowering: what waits, what is kept, what shares a buffer, what may alias.

Tiles travel through nested loops and branches, loads and stores of the same arrays stand between a value and its uses,
values are used several times, through maps and in reductions, before and after loops.  All accesses stay in their arrays
and all loops end.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.execute.cpu.stress_values import (
    ARRAYS,
    FLOATS,
    INTEGERS,
    OUTPUTS,
    ROOM,
    SHAPES,
    SIZE,
    Shape,
    Type,
    Values,
    count_of,
    text_of,
)


class Stress(Values):
    """Writes one kernel."""

    def __init__(self, rng: Random, size: int) -> None:
        super().__init__(rng)
        self.size = size
        self.depth = 0
        # How to leave the loops around, innermost last: the types they carry, and those they give for `break`; None where
        # nobody may.
        self.loops: list[tuple[list[Type], list[Type] | None, str | None] | None] = []

    # --- tiles ---

    def any_tile(self, elements: tuple[str, ...] = (*FLOATS, *INTEGERS)) -> tuple[str, Type]:
        rng = self.rng
        known = [(name, type) for name, type in self.all_known() if type[0] and type[1] in elements]
        if known and rng.random() < 0.8:
            return known[-1 - min(int(rng.expovariate(0.3)), len(known) - 1)]
        type = (rng.choice(SHAPES), rng.choice(elements))
        return self.make(type), type

    def elementwise(self) -> None:
        rng = self.rng
        value, type = self.any_tile()
        word = text_of(type)
        if type[1].startswith("f"):
            kind = rng.choice(
                ("addf", "subf", "mulf", "maxf", "minf", "exp", "negf", "absf", "fma", "select", "divf", "to")
            )
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

    def moved(self) -> None:
        """Another arrangement of a tile's elements."""
        rng = self.rng
        value, type = self.any_tile((*FLOATS, *INTEGERS, "i1"))
        shape, element = type
        kind = rng.choice(("reshape", "permute", "broadcast", "extract", "insert", "cat"))
        if kind == "reshape":
            options = [other for other in SHAPES if count_of(other) == count_of(shape)]
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
                for other in SHAPES
                if len(other) == len(shape)
                and all(new == old or old == 1 for new, old in zip(other, shape, strict=True))
            ]
            if options:
                result = (rng.choice(options), element)
                self.emit(f"broadcast {value} : {text_of(type)} -> {text_of(result)}", result)
        elif kind in ("extract", "insert"):
            part = tuple([rng.choice([size for size in (1, 2, 4, 8, extent) if size <= extent]) for extent in shape])
            indices = ", ".join([self.bounded(extent // size) for extent, size in zip(shape, part, strict=True)])
            if kind == "extract":
                self.emit(
                    f"extract {value}[{indices}] : {text_of(type)} -> {text_of((part, element))}", (part, element)
                )
            else:
                small = self.want((part, element))
                self.emit(f"insert {small}, {value}[{indices}] : {text_of((part, element))}, {text_of(type)}", type)
        elif kind == "cat" and count_of(shape) <= 256:
            axis = rng.randrange(len(shape))
            result = (tuple([extent * 2 if place == axis else extent for place, extent in enumerate(shape)]), element)
            other = self.want(type)
            self.emit(
                f"cat {value}, {other} dim = {axis} : {text_of(type)}, {text_of(type)} -> {text_of(result)}", result
            )

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
        element = rng.choice(("f32", "f32", "f16"))
        sum: Type = ((m, n), element)
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
        left, right = self.want(((m, k), element)), self.want(((k, n), element))
        total = rng.choice((carried, carried, carried, self.want(sum)))
        made = self.fresh()
        self.lines.append(
            f"{made} = mmaf {left}, {right}, {total} : "
            f"{text_of(((m, k), element))}, {text_of(((k, n), element))}, {word}"
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
        kind, total = rng.choice((("f32", "f32"), ("f32", "f32"), ("f16", "f32"), ("f16", "f16"), ("i8", "i32")))
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
                found.append((rng.choice(SHAPES), rng.choice((*FLOATS, *INTEGERS))))
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
        leaving = bool(self.loops) and self.loops[-1] is not None and rng.random() < 0.3

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
        loop = self.loops[-1]
        assert loop is not None
        carried, results, counter = loop
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

    def walk(self, size: int) -> None:
        """A loop that carries pointers and moves them in each turn, by as much or not, forwards or backwards."""
        rng = self.rng
        array = rng.choice(list(ARRAYS))
        element = ARRAYS[array]
        type: Type = (rng.choice(SHAPES), element)
        pointer, word = text_of((type[0], f"ptr<{element}>")), text_of((type[0], "i32"))
        # From the lower half of the array, and a quarter of it further, three turns lead nowhere outside.
        start = self.pointers(array, type[0])
        if rng.random() < 0.7:
            start = self.moved_by(start, pointer, self.number_tile(SIZE // 4, word), word)
            sign = rng.choice((1, -1))
        else:
            sign = 1
        step = self.step(type[0], sign) if rng.random() < 0.7 else ""
        carried, result, variable, upper = (
            self.fresh(),
            self.fresh(),
            self.fresh(),
            rng.choice(("%three", "%two", "%n")),
        )
        values: list[Type] = [type] if rng.random() < 0.6 else []
        names, results = [self.fresh() for _ in values], [self.fresh() for _ in values]
        pairs = [f"{carried} = {start}", *[f"{name} = {self.want(type)}" for name in names]]
        kinds = ", ".join([pointer, *map(text_of, values)])
        self.lines.append(
            f"{', '.join([result, *results])} = for {variable} in (%zero to {upper}, step %one) : tile<i32> "
            f"iter_values({', '.join(pairs)}) -> ({kinds}) {{"
        )
        self.loops.append(None)
        self.scopes.append({})
        self.depth += 1
        self.know(variable, ((), "i32"))
        for name in names:
            self.know(name, type)
        moved = self.moved_by(carried, pointer, step or self.step(type[0], sign), word)
        if rng.random() < 0.2:
            self.lines.append(f"if {self.want(((), 'i1'))} {{\ncontinue {', '.join([moved, *names])} : {kinds}\n}}")
        self.load_from(carried, type)
        self.statements(size // 2)
        if rng.random() < 0.3:
            self.store_to(carried, type)
        if rng.random() < 0.3:
            self.load_from(carried, type)
        ends = [self.want(each) for each in values]
        self.lines.append(f"continue {', '.join([moved, *ends])} : {kinds}\n}}")
        self.depth -= 1
        self.scopes.pop()
        self.loops.pop()
        for name in results:
            self.know(name, type)
        if upper != "%n" and rng.random() < 0.5:
            self.load_from(result, type)

    def step(self, shape: Shape, sign: int) -> str:
        """How far pointers move in a turn: the same for all or not, known or not, no further than a thirteenth."""
        rng = self.rng
        type: Type = (shape, "i32")
        word = text_of(type)
        kind = rng.random()
        if kind < 0.5:
            return self.number_tile(sign * rng.choice((0, 1, 3, 16, 64, 300)), word)
        if kind < 0.8:
            scalar = self.bounded(256)
            ones = (1,) * len(shape)
            line, found = self.fresh(), self.fresh()
            self.lines.append(f"{line} = reshape {scalar} : tile<i32> -> {text_of((ones, 'i32'))}")
            self.lines.append(f"{found} = broadcast {line} : {text_of((ones, 'i32'))} -> {word}")
        else:
            found = self.fresh()
            self.lines.append(f"{found} = andi {self.want(type)}, {self.number_tile(127, word)} : {word}")
        if sign > 0:
            return found
        negative = self.fresh()
        self.lines.append(f"{negative} = subi {self.number_tile(0, word)}, {found} : {word}")
        return negative

    def number_tile(self, number: int, word: str) -> str:
        name = self.fresh()
        self.lines.append(f"{name} = constant <i32: {number}> : {word}")
        return name

    def moved_by(self, pointers: str, pointer: str, step: str, word: str) -> str:
        name = self.fresh()
        self.lines.append(f"{name} = offset {pointers}, {step} : {pointer}, {word} -> {pointer}")
        return name

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
                rng.choice((self.branch, self.counted, self.counted, self.endless, self.accumulation, self.walk))(inner)

    def expose(self) -> None:
        """Store what is known at the end, each tile in its own place."""
        used = dict.fromkeys(OUTPUTS, 0)
        for name, (shape, element) in self.all_known():
            count = count_of(shape)
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
            lines.append(
                f"%start_{element} = offset %o{element}, %first : tile<{pointer}>, tile<i32> -> tile<{pointer}>"
            )
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
