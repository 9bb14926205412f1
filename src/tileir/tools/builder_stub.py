"""Writes the stubs of the builder and of `tileir`, and the accessors of operations:
`python -m tileir.tools.builder_stub [FILE FILE FILE]`.

`Builder` looks its operations up among the declarations when they are called; `tileir/builder.pyi` has a method for
each, with its arguments, their types and its documentation, written from the same declarations.  `ir/accessors.py` has
a property for each declared name (`accessor_properties.py`).  `tileir/__init__.pyi` imports the public names, which the
package itself imports when they are first used.  The same declarations give the same bytes; a test
compares them.
"""

from __future__ import annotations

import sys

import tileir
from tileir.annotations import Final
from tileir.declarations import declarations
from tileir.dialect.enums import PADDING, enum_kind_of
from tileir.dialect.ops import CONSTANT, ENTRY, FOR, GLOBAL, IF, LOOP, MODULE, REDUCE, SCAN
from tileir.dialect.signature import Parameter, Signature, python_name, signature_of
from tileir.ir.declaration import OPTIONAL, VARIADIC, AttributeDeclaration, OperationDeclaration
from tileir.ir.versions import NEWEST_NAME
from tileir.tools.accessor_properties import accessors
from tileir.tools.arguments import EXIT_FINE, EXIT_USAGE
from tileir.tools.output import write_output
from tileir.tools.programs import run_process

FILES: Final = ("src/tileir/builder.pyi", "src/tileir/ir/accessors.py", "src/tileir/__init__.pyi")

# Operations whose methods are written by hand, in the builder and below.
BY_HAND: Final = (CONSTANT, ENTRY, FOR, GLOBAL, IF, LOOP, MODULE, REDUCE, SCAN)

_HEAD: Final = '''\
# Written by `make docs` from the declarations; edit those, or src/tileir/tools/builder_stub.py.
# ruff: noqa
# fmt: off
"""Builds programs from Python: a method for each operation, named as in the text (docs/building.md)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, overload

from tileir.dialect.scopes import BodyScope, BranchScope, EntryScope, LoopScope, Scope
from tileir.ir.attributes import Attribute
from tileir.ir.core import Block, InsertionPoint, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.location import Location
from tileir.ir.types import Type
from tileir.ir.values import Value

__all__ = ["Builder"]

# What an operand may be: a value, or a number that becomes a constant of the type the others have.
_Operand: TypeAlias = Value | float
_Operands: TypeAlias = _Operand | Sequence[_Operand]
# A type, or the name of an element type.
_Type: TypeAlias = Type | str
_Extents: TypeAlias = int | Sequence[int]
_Attributes: TypeAlias = Mapping[str, object] | None

class Builder:
    """Builds a module, or adds to one.

    `Builder("name")` starts a new module; `Builder(block=..., before=...)` adds to an existing block.  With
    `locations` each operation carries the file and line of the Python code that built it.  `version`, "13.1" to
    "13.4", is the version of the dialect whose rules hold.  Every operation takes `location` and, for attributes of
    other dialects, `attributes`.
    """

    version: tuple[int, int]
    locations: bool
    scopes: list[Scope]
    point: InsertionPoint

    def __init__(
        self,
        name: str = "kernels",
        *,
        producer: str | None = None,
        locations: bool = False,
        version: str = "NEWEST",
        block: Block | None = None,
        before: Operation | None = None,
    ) -> None: ...
    @property
    def module(self) -> Operation:
        """The outermost operation around the insertion point, as it is now."""
    def finish(self) -> Operation:
        """The module, verified: `VerifyError` carries every error."""
    def operation(self, mnemonic: str, *args: Any, **keywords: Any) -> Operation:
        """Build an operation by name and get the operation instead of its results."""
    def build(
        self, declaration: OperationDeclaration, args: tuple[object, ...], keywords: dict[str, object]
    ) -> Operation:
        """Bind, convert, infer, insert, verify; nothing is inserted unless all of it succeeds."""

    # --- operations whose arguments are not those of their declaration ---

    def constant(self, value: object, type: _Type, *, COMMON) -> Value:
        """A constant tile: one number for all elements, nested lists (or an array), or bytes.

        `type` is a tile type; an element type means the scalar, or the shape of the lists.
        """
    def global_(
        self,
        name: str,
        value: object,
        type: _Type,
        *,
        alignment: int = 0,
        constant: bool = False,
        symbol_visibility: Literal["public", "private"] = "public",
        COMMON,
    ) -> Operation:
        """A variable of the module around the insertion point; `type` as for `constant`, with one dimension."""
    def entry(
        self,
        name: str,
        *argument_types: _Type,
        arg_attrs: Iterable[object] | Attribute | None = None,
        res_attrs: Iterable[object] | Attribute | None = None,
        optimization_hints: Mapping[str, object] | Attribute | None = None,
        COMMON,
    ) -> EntryScope:
        """A kernel: `with b.entry("k", ptr(f32), i32) as (data, count): ...`.

        An element or pointer type stands for its scalar tile.
        """
    def if_(self, condition: _Operand, types: Sequence[_Type] = (), *, COMMON) -> BranchScope:
        """A branch: `with b.if_(condition) as branch: ...`, then `with branch.else_(): ...`.

        The results have the types that the first `yield_` passes, or `types`.
        """
    def for_(
        self,
        lower: _Operand,
        upper: _Operand,
        step: _Operand = 1,
        init: _Operands = (),
        *,
        unsigned: bool = False,
        COMMON,
    ) -> LoopScope:
        """A counted loop: `with b.for_(0, n, init=[zero]) as loop: ...`; end with `continue_` of the next values."""
    def loop(self, init: _Operands = (), types: Sequence[_Type] = (), *, COMMON) -> LoopScope:
        """A loop that `break_` ends; the results have the types that the first `break_` passes, or `types`."""
    @overload
    def reduce(
        self, operands: Value | Sequence[Value], dim: int, identities: object, body: None = None, *, COMMON
    ) -> BodyScope:
        """Combine the elements along a dimension.

        With `body`, a function of an element and what was accumulated (per tile), the results; otherwise a scope:
        `with b.reduce(x, 0, 0.0) as body: b.yield_(b.addf(*body.arguments))`.
        """
    @overload
    def reduce(
        self, operands: Value, dim: int, identities: object, body: Callable[..., Any], *, COMMON
    ) -> Value: ...
    @overload
    def reduce(
        self, operands: Sequence[Value], dim: int, identities: object, body: Callable[..., Any], *, COMMON
    ) -> tuple[Value, ...]: ...
    @overload
    def scan(
        self, operands: Value | Sequence[Value], dim: int, identities: object, body: None = None, *,
        reverse: bool = False, COMMON
    ) -> BodyScope:
        """Running combination along a dimension; as `reduce`."""
    @overload
    def scan(
        self, operands: Value, dim: int, identities: object, body: Callable[..., Any], *,
        reverse: bool = False, COMMON
    ) -> Value: ...
    @overload
    def scan(
        self, operands: Sequence[Value], dim: int, identities: object, body: Callable[..., Any], *,
        reverse: bool = False, COMMON
    ) -> tuple[Value, ...]: ...

    # --- all others ---
'''

_COMMON: Final = ("location: Location | None = None", "attributes: _Attributes = None")

# The Python values an attribute may be given as, by the kind of its constraint; an attribute is taken as well.
_KINDS: Final = {
    "array": "Iterable[object]",
    "bool": "bool",
    "bool_array": "Sequence[bool]",
    "hints": "Mapping[str, object]",
    "i32": "int",
    "i32_array": "Sequence[int]",
    "i64": "int",
    "string": "str",
    "symbol": "str | Operation",
    "symbol_name": "str",
    "type": "Type",
    "unit": "bool",
}

# Arguments that are no operand and no attribute, but part of a type that is inferred from them.
_EXTRAS: Final = {
    "dim_map": "Sequence[int]",
    "padding": f"Literal[{', '.join([repr(word).replace(chr(39), chr(34)) for word in PADDING.cases])}]",
    "regions": "Sequence[Region]",
    "shape": "_Extents",
    "sparse_dim": "int",
    "strides": "_Extents",
    "tile": "_Extents",
    "traversal_strides": "_Extents",
    "type": "_Type",
    "types": "Sequence[_Type]",
}


def main() -> int:
    return run_process("tileir.tools.builder_stub", run, sys.argv[1:])


def run(arguments: list[str]) -> int:
    if len(arguments) not in (0, 3) or any(argument.startswith("-") for argument in arguments):
        print("usage: python -m tileir.tools.builder_stub [STUB ACCESSORS NAMES]", file=sys.stderr)
        return EXIT_USAGE
    for file, text in zip(arguments or FILES, (stub(), accessors(), names_stub()), strict=True):
        write_output(file, text)
    return EXIT_FINE


def names_stub() -> str:
    """`tileir/__init__.pyi`: every public name, imported from its home."""
    homes = {"tileir": sorted(tileir._MODULES)}
    for name, home in tileir._HOME_OF.items():
        homes.setdefault(home, []).append(name)
    lines = ["# Written by `make docs` from the tables in `__init__.py`.", "# ruff: noqa", "# fmt: off"]
    for home, names in sorted(homes.items()):
        lines.append(f"from {home} import {', '.join([f'{name} as {name}' for name in sorted(names)])}")
    # Of the tables, for whoever reads them.
    lines += ["", "__version__: str", "__all__: list[str]", "_MODULES: tuple[str, ...]", "_HOME_OF: dict[str, str]"]
    return "\n".join(lines) + "\n"


def stub() -> str:
    """The whole file."""
    methods: list[str] = []
    # By name: the order of declarations is that of imports, and nobody's business.
    for declaration in sorted(declarations(), key=lambda each: each.mnemonic):
        if not declaration.is_builtin and declaration not in BY_HAND:
            methods += _methods(declaration)
    head = _HEAD.replace("COMMON", ", ".join(_COMMON)).replace("NEWEST", NEWEST_NAME)
    return head + "\n".join(methods) + "\n"


def _methods(declaration: OperationDeclaration) -> list[str]:
    """The lines of an operation: one method, or an overload for each way to mix positions and keywords."""
    signature = signature_of(declaration)
    name = python_name(declaration.mnemonic)
    ways = signature.ways()
    lines: list[str] = []
    for by_place, by_name in ways:
        arguments = [_argument(signature, each, len(ways) > 1 and not each.required) for each in by_place]
        if signature.spread:
            arguments = [f"*{python_name(by_place[0].name)}: _Operands"]
        else:
            arguments.append("*")
        arguments = ["self", *arguments, *[_argument(signature, each) for each in by_name], *_COMMON]
        head = f"    def {name}({', '.join(arguments)}) -> {_result(declaration)}:"
        if len(ways) > 1:
            lines.append("    @overload")
        lines += [f"{head} ..."] if by_place is not ways[0][0] else [head, *_documentation(signature)]
    for alias in (declaration.newer_mnemonic, *declaration.aliases):
        if alias is not None:
            lines.append(f"    {python_name(alias)} = {name}")
    return lines


def _argument(signature: Signature, parameter: Parameter, is_given: bool = False) -> str:
    """One argument; an optional one that `is_given` has no default."""
    attribute = parameter.attribute
    if attribute is not None:
        words = _attribute_type(attribute)
    elif parameter.operand is not None:
        words = "_Operands" if parameter.operand.count == VARIADIC else "_Operand"
    elif signature.inference.hidden and parameter.required:
        # Operands are made from it: extents of a tensor may be known only when the kernel runs.
        words = "_Operands"
    else:
        words = _EXTRAS.get(parameter.name, "object")
    if not parameter.required and parameter.default is None:
        words += " | None"
    name = f"{python_name(parameter.name)}: {words}"
    default = f'"{parameter.default}"' if isinstance(parameter.default, str) else repr(parameter.default)
    return name if parameter.required or is_given else f"{name} = {default}"


def _attribute_type(declared: AttributeDeclaration) -> str:
    kind = declared.constraint.kind
    if kind == "enum":
        enumeration = enum_kind_of(declared)
        cases = enumeration.cases if enumeration is not None else {}
        words = [f'"{word}"' for word, case in cases.items() if declared.constraint.predicate(case)]
        return f"Literal[{', '.join(words)}] | Attribute"
    found = _KINDS.get(kind)
    return f"{found} | Attribute" if found is not None else "Attribute"


def _result(declaration: OperationDeclaration) -> str:
    results = declaration.results
    if not results:
        return "None"
    if any(each.count in (OPTIONAL, VARIADIC) for each in results):
        return "tuple[Value, ...]"
    return "Value" if len(results) == 1 else f"tuple[{', '.join(['Value'] * len(results))}]"


def _documentation(signature: Signature) -> list[str]:
    text = signature.documentation.replace("\\", "\\\\").replace('"""', "'''")
    first, *others = [f"        {line}" if line else "" for line in text.splitlines()]
    quoted = f'        """{first.strip()}'
    return [quoted, *others, '        """'] if others else [f'{quoted}"""']


if __name__ == "__main__":
    sys.exit(main())
