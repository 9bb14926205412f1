"""What random whole kernels (`kernels`) compute: conversions, functions, reductions along rows and columns."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.execute.cpu.stress_values import Shape, Type, count_of, text_of

FUNCTIONS = ("exp", "exp2", "log", "log2", "sin", "cos", "sinh", "cosh", "tanh", "tan", "pow", "rsqrt", "sqrt")
LOWEST = {"f32": "0xFF800000", "f16": "0xFC00", "bf16": "0xFF80", "f64": "0xFFF0000000000000", "i32": "-2147483648"}


class KernelValues:
    """Writes the lines between loads and stores."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.names = 0
        self.compute = "f32"
        self.shape: Shape = ()
        # Tiles of this shape in this type, and what reads one of the inputs again.
        self.values: list[str] = []
        self.inputs: list[Callable[[], str]] = []

    def fresh(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def operation(self, text: str) -> str:
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return name

    def word(self, type: Type) -> str:
        return text_of(type)

    # --- tiles from scalars ---

    def scalar_of(self, text: str) -> str:
        """A number or the name of one as an i32."""
        return text if text.startswith("%") else self.operation(f"constant <i32: {text}> : tile<i32>")

    def constant_of(self, type: Type, value: float) -> str:
        element = type[1]
        if element == "i1":
            return self.operation(f"constant <i1: {'true' if value else 'false'}> : {text_of(type)}")
        number = str(int(value)) if element.startswith("i") else f"{value:.6e}"
        return self.operation(f"constant <{element}: {number}> : {text_of(type)}")

    def filled(self, scalar: str, shape: Shape, element: str = "i32") -> str:
        ones = (1,) * len(shape)
        point = self.operation(f"reshape {scalar} : tile<{element}> -> {text_of((ones, element))}")
        return self.operation(f"broadcast {point} : {text_of((ones, element))} -> {text_of((shape, element))}")

    def lanes(self, shape: Shape, axis: int, element: str) -> str:
        """The position along a dimension, for every element."""
        line = ((shape[axis],), element)
        flat = tuple([extent if place == axis else 1 for place, extent in enumerate(shape)])
        name = self.operation(f"iota : {text_of(line)}")
        name = self.operation(f"reshape {name} : {text_of(line)} -> {text_of((flat, element))}")
        return self.operation(f"broadcast {name} : {text_of((flat, element))} -> {text_of((shape, element))}")

    # --- conversions ---

    def converted_to(self, value: str, shape: Shape, source: str, target: str) -> str:
        """The same numbers in another type, kept within what integers hold."""
        if source == target:
            return value
        arrow = f"{text_of((shape, source))} -> {text_of((shape, target))}"
        if source.startswith("f8") and target[0] == "i":
            return self.converted_to(self.converted_to(value, shape, source, "f32"), shape, "f32", target)
        if source[0] != "i" and target[0] != "i":
            return self.operation(f"ftof {value} : {arrow}")
        if source[0] == "i" and target[0] != "i":
            return self.operation(f"itof {value} {'unsigned' if source == 'i1' else 'signed'} : {arrow}")
        if target == "i1":
            zero = self.constant_of((shape, source), 0)
            if source[0] == "i":
                return self.operation(f"cmpi not_equal {value}, {zero}, signed : {arrow}")
            return self.operation(f"cmpf greater_than ordered {value}, {zero} : {arrow}")
        if source[0] != "i":
            low, high = (self.constant_of((shape, source), bound) for bound in (-100, 100))
            value = self.operation(f"maxf {value}, {low} : {text_of((shape, source))}")
            value = self.operation(f"minf {value}, {high} : {text_of((shape, source))}")
            return self.operation(f"ftoi {value} signed : {arrow}")
        widths = {"i1": 1, "i8": 8, "i32": 32}
        if widths[source] < widths[target]:
            return self.operation(f"exti {value} {'unsigned' if source == 'i1' else 'signed'} : {arrow}")
        return self.operation(f"trunci {value} : {arrow}")

    # --- steps ---

    def some(self) -> str:
        if self.inputs and self.rng.random() < 0.15:
            return self.rng.choice(self.inputs)()
        return self.values[-1 - min(int(self.rng.expovariate(0.7)), len(self.values) - 1)]

    def step(self) -> None:
        """One more value."""
        rng = self.rng
        kinds: list[Callable[[], str]] = (
            [self.pair] * 4 + [self.over_axis] * 3 + [self.chosen, self.rounded, self.moved, self.scanned]
        )
        kinds += [self.function] * 5 if self.compute[0] != "i" else [self.pair]
        self.values.append(rng.choice(kinds)())

    def pair(self) -> str:
        rng = self.rng
        word = text_of((self.shape, self.compute))
        left, right = self.some(), self.some()
        if rng.random() < 0.3:
            right = self.constant_of((self.shape, self.compute), rng.choice((0.5, 2, 3, -1.25)))
        if self.compute == "i32":
            kind = rng.choice(("addi", "subi", "muli", "andi", "xori", "maxi", "mini"))
            return self.operation(f"{kind} {left}, {right}{' signed' if kind in ('maxi', 'mini') else ''} : {word}")
        kind = rng.choice(("addf", "subf", "mulf", "divf", "maxf", "minf", "fma"))
        if kind == "fma":
            return self.operation(f"fma {left}, {right}, {self.some()} : {word}")
        return self.operation(f"{kind} {left}, {right} : {word}")

    def function(self) -> str:
        rng = self.rng
        word = text_of((self.shape, self.compute))
        value = self.some()
        kind = rng.choice(FUNCTIONS)
        if kind in ("log", "log2", "rsqrt", "sqrt", "pow") and rng.random() < 0.8:
            value = self.operation(f"absf {value} : {word}")
        elif kind in ("exp", "exp2", "sinh", "cosh") and rng.random() < 0.8:
            # Otherwise there is soon nothing left but infinities.
            value = self.operation(f"minf {value}, {self.constant_of((self.shape, self.compute), 4)} : {word}")
        if kind == "pow":
            return self.operation(f"pow {value}, {self.some()} : {word}")
        return self.operation(f"{kind} {value} : {word}")

    def combination(self) -> tuple[str, str]:
        """An identity, and how two elements combine."""
        scalar = f"tile<{self.compute}>"
        floating = self.compute[0] != "i"
        kind = self.rng.choice(("sum", "sum", "most"))
        name = f"{'add' if kind == 'sum' else 'max'}{'f' if floating else 'i'}"
        zero = "0.0" if floating else "0"
        extra = " signed" if name == "maxi" else ""
        a, b, c = self.fresh(), self.fresh(), self.fresh()
        body = f"({a}: {scalar}, {b}: {scalar}) {{\n{c} = {name} {a}, {b}{extra} : {scalar}\nyield {c} : {scalar}\n}}"
        return f"[{zero if kind == 'sum' else LOWEST[self.compute]} : {self.compute}]", body

    def reduced(self, value: str, axis: int) -> str:
        """The combination of a tile's elements along a dimension, in all their places."""
        rest = tuple([extent for place, extent in enumerate(self.shape) if place != axis])
        flat = tuple([1 if place == axis else extent for place, extent in enumerate(self.shape)])
        identity, body = self.combination()
        words = [text_of((shape, self.compute)) for shape in (self.shape, rest, flat)]
        value = self.operation(f"reduce {value} dim={axis} identities={identity} : {words[0]} -> {words[1]} {body}")
        value = self.operation(f"reshape {value} : {words[1]} -> {words[2]}")
        return self.operation(f"broadcast {value} : {words[2]} -> {words[0]}")

    def over_axis(self) -> str:
        """A tile less its largest element, over its sum, and the like."""
        value = self.some()
        axis = len(self.shape) - 1 if self.rng.random() < 0.7 else self.rng.randrange(len(self.shape))
        whole = self.reduced(value, axis)
        self.values.append(whole)
        again = self.some() if self.rng.random() < 0.5 else value
        kind = self.rng.choice(("subf", "divf", "mulf") if self.compute[0] != "i" else ("subi", "xori"))
        return self.operation(f"{kind} {again}, {whole} : {text_of((self.shape, self.compute))}")

    def scanned(self) -> str:
        axis = self.rng.randrange(len(self.shape))
        word = text_of((self.shape, self.compute))
        value = self.some()
        identity, body = self.combination()
        reverse = self.rng.choice(("true", "false"))
        return self.operation(
            f"scan {value} dim={axis} reverse={reverse} identities={identity} : {word} -> {word} {body}"
        )

    def chosen(self) -> str:
        """One tile or another, by their values or by position."""
        rng = self.rng
        type, bits = (self.shape, self.compute), (self.shape, "i1")
        left, right = self.some(), self.some()
        if rng.random() < 0.5:
            axis = rng.randrange(len(self.shape))
            places = self.lanes(self.shape, axis, "i32")
            limit = self.constant_of((self.shape, "i32"), rng.randrange(self.shape[axis] + 1))
            mask = self.operation(
                f"cmpi less_than {places}, {limit}, signed : {text_of((self.shape, 'i32'))} -> {text_of(bits)}"
            )
        elif self.compute[0] != "i":
            mask = self.operation(f"cmpf less_than ordered {left}, {right} : {text_of(type)} -> {text_of(bits)}")
        else:
            mask = self.operation(f"cmpi less_than {left}, {right}, signed : {text_of(type)} -> {text_of(bits)}")
        return self.operation(f"select {mask}, {left}, {right} : {text_of(bits)}, {text_of(type)}")

    def rounded(self) -> str:
        """By way of another type."""
        other = self.rng.choice(
            ("f16", "bf16", "f32", "f64", "i8", "i1", "f8E5M2") if self.compute[0] != "i" else ("f32", "i8", "i1")
        )
        there = self.converted_to(self.some(), self.shape, self.compute, other)
        return self.converted_to(there, self.shape, other, self.compute)

    def moved(self) -> str:
        """The elements in other places: cut into parts that are exchanged, or seen the other way round."""
        rng = self.rng
        value, count = self.some(), count_of(self.shape)
        part = 1 << rng.randrange(count.bit_length())
        cut, turned, whole = (count // part, part), (part, count // part), self.shape
        words = [text_of((shape, self.compute)) for shape in (whole, cut, turned)]
        if rng.random() < 0.5:
            # The first of each part for all of it.
            first = ((count // part, 1), self.compute)
            value = self.operation(f"reshape {value} : {words[0]} -> {words[1]}")
            value = self.operation(f"extract {value}[%zero, %zero] : {words[1]} -> {text_of(first)}")
            value = self.operation(f"broadcast {value} : {text_of(first)} -> {words[1]}")
            return self.operation(f"reshape {value} : {words[1]} -> {words[0]}")
        value = self.operation(f"reshape {value} : {words[0]} -> {words[1]}")
        value = self.operation(f"permute {value} [1, 0] : {words[1]} -> {words[2]}")
        return self.operation(f"reshape {value} : {words[2]} -> {words[0]}")
