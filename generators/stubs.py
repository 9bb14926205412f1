"""The stubs of `Builder` and of the package.

`Builder` looks its operations up among the declarations when they are called; `tileir/builder.pyi` has a method for
each, with its arguments, their types and its documentation.  The stub of a public module imports the names that the
module itself imports when they are first used.
"""

from __future__ import annotations

import json
from typing import Final

from generators import ROOT, with_generated
from tileir.declarations import declarations
from tileir.dialect.enums import PADDING, enum_kind_of
from tileir.dialect.ops import CONSTANT, ENTRY, FOR, GLOBAL, IF, LOOP, MODULE, REDUCE, SCAN
from tileir.dialect.signature import Parameter, Signature, python_name, signature_of
from tileir.ir.declaration import OPTIONAL, VARIADIC, AttributeDeclaration, OperationDeclaration
from tileir.public import MODULES, TABLES

# Operations whose methods are written by hand, in the builder and in its stub: their arguments are not those of their
# declarations.
BY_HAND: Final = (CONSTANT, ENTRY, FOR, GLOBAL, IF, LOOP, MODULE, REDUCE, SCAN)

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


def name_stubs() -> dict[str, str]:
    """The stubs of public modules that are tables: every name, imported from its home."""
    found = {}
    for module, table in TABLES.items():
        homes: dict[str, list[str]] = {module: [f"{name} as {name}" for name in MODULES]} if module == "tileir" else {}
        for name, (home, own) in table.items():
            homes.setdefault(home.removeprefix("!"), []).append(f"{own} as {name}")
        lines = ["# Written by `make docs` from `tileir/public.py`.", "# ruff: noqa", "# fmt: off"]
        for home, names in sorted(homes.items()):
            lines.append(f"from {home} import {', '.join(sorted(names))}")
        lines += ["", *(["__version__: str"] if module == "tileir" else []), f"__all__ = {json.dumps(sorted(table))}"]
        path = f"src/{module.replace('.', '/')}"
        found[f"{path}/__init__.pyi" if (ROOT / path).is_dir() else f"{path}.pyi"] = "\n".join(lines) + "\n"
    return found


def builder_stub() -> str:
    """The whole of `tileir/builder.pyi`."""
    methods: list[str] = []
    # By name: the order of declarations is that of imports.
    for declaration in sorted(declarations(), key=lambda each: each.mnemonic):
        if not declaration.is_builtin and declaration not in BY_HAND:
            methods += _methods(declaration)
    return with_generated("src/tileir/builder.pyi", "\n".join(methods) + "\n", "    # --- all others ---")


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
