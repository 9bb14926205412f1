"""Types: interned, immutable, compared with `is`.

Two spellings are kept with each type because both are needed on hot paths: `spelling` is how the type is
written inside the dialect (`tile<4xf32>`), `text` is how it is written anywhere else (`!cuda_tile.tile<4xf32>`).
For builtin types the two agree.  A type is built through its factory function, never by calling the class:
the factory returns the one instance there is (the types draft, "TypeStorage and TypeID singletons").
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.interning import BYTES_PER_OBJECT, ELEMENT, FUNCTION, Shared, intern, register

# The most characters of a type or attribute in its `repr`.
LONGEST_SHOWN: Final = 200


class Type(Shared):
    """Base of all types."""

    __slots__ = ("spelling", "text")

    def __init__(self, spelling: str, text: str) -> None:
        self.spelling: str = spelling
        self.text: str = text

    @property
    def is_portable(self) -> bool:
        """Whether a program with a value of the type means the same to every tool."""
        return True

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        """The spelling, of a very long one the beginning."""
        return self.text if len(self.text) <= LONGEST_SHOWN else self.text[:LONGEST_SHOWN] + "..."


class IntegerType(Type):
    """`i32`, and the signed and unsigned builtin forms `si32`, `ui32` that Tile IR itself never uses."""

    __slots__ = ("width",)

    def __init__(self, spelling: str, width: int) -> None:
        super().__init__(spelling, spelling)
        self.width: int = width


class FloatType(Type):
    """A float element type; `ir.floats.FORMATS[name]` describes its bits."""

    __slots__ = ("name", "width")

    def __init__(self, name: str, width: int) -> None:
        super().__init__(name, name)
        self.name: str = name
        self.width: int = width


class FunctionType(Type):
    """`(inputs) -> results`."""

    __slots__ = ("inputs", "results")

    def __init__(self, text: str, inputs: tuple[Type, ...], results: tuple[Type, ...]) -> None:
        super().__init__(text, text)
        self.inputs: tuple[Type, ...] = inputs
        self.results: tuple[Type, ...] = results


class OpaqueType(Type):
    """A type of unknown structure: `tensor<4xf32>`, `index`, `!other.name<...>`."""

    __slots__ = ()


_integers: Final[dict[str, IntegerType]] = {}
_functions: Final[dict[tuple[tuple[Type, ...], tuple[Type, ...]], FunctionType]] = {}
_opaques: Final[dict[str, OpaqueType]] = {}
register(_functions, FUNCTION, lambda type: len(type.text) // BYTES_PER_OBJECT)
register(_integers, ELEMENT)
register(_opaques, ELEMENT)


def integer_type(width: int, sign: str = "") -> IntegerType:
    """The integer type of `width` bits; `sign` is "", "s" or "u"."""
    spelling = f"{sign}i{width}"
    return _integers.get(spelling) or intern(_integers, spelling, IntegerType(spelling, width))


def type_list(types: tuple[Type, ...]) -> str:
    """Types as the generic form writes a list of them."""
    return ", ".join([t.text for t in types])


def function_type(inputs: tuple[Type, ...], results: tuple[Type, ...]) -> FunctionType:
    key = (inputs, results)
    found = _functions.get(key)
    if found is None:
        bare = len(results) == 1 and not isinstance(results[0], FunctionType)
        output = results[0].text if bare else f"({type_list(results)})"
        text = f"({type_list(inputs)}) -> {output}"
        found = intern(_functions, key, FunctionType(text, inputs, results), 1 + len(text) // BYTES_PER_OBJECT)
    return found


def flattened(type: Type) -> list[Type]:
    """The types a function type is made of, each once, with those inside it taken apart; another type alone."""
    if not isinstance(type, FunctionType):
        return [type]
    # An explicit stack, because a file may nest function types to any depth.
    found: dict[Type, None] = {}
    seen: set[Type] = set()
    pending: list[Type] = [type]
    while pending:
        part = pending.pop()
        if not isinstance(part, FunctionType):
            found[part] = None
        elif part not in seen:
            seen.add(part)
            pending.extend(reversed((*part.inputs, *part.results)))
    return list(found)


def opaque_type(text: str) -> OpaqueType:
    return _opaques.get(text) or intern(_opaques, text, OpaqueType(text, text))


I1: Final = integer_type(1)
I4: Final = integer_type(4)
I8: Final = integer_type(8)
I16: Final = integer_type(16)
I32: Final = integer_type(32)
I64: Final = integer_type(64)

F16: Final = FloatType("f16", 16)
BF16: Final = FloatType("bf16", 16)
F32: Final = FloatType("f32", 32)
TF32: Final = FloatType("tf32", 19)
F64: Final = FloatType("f64", 64)
F8E4M3FN: Final = FloatType("f8E4M3FN", 8)
F8E5M2: Final = FloatType("f8E5M2", 8)
F8E8M0FNU: Final = FloatType("f8E8M0FNU", 8)
F4E2M1FN: Final = FloatType("f4E2M1FN", 4)
FNV8E5M3FNU: Final = FloatType("fnv8E5M3FNU", 8)

FLOAT_TYPES: Final[dict[str, FloatType]] = {
    t.name: t for t in (F16, BF16, F32, TF32, F64, F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN, FNV8E5M3FNU)
}
INDEX: Final = opaque_type("index")
NONE: Final = opaque_type("none")
