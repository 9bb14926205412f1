"""The examples of operations: as whole programs, and in Python.

An example is a statement that uses values it does not define.  The parser finds their types: each value starts as a
`tile<i1>`, and whenever the parser reports that a use expects another type, the value gets that one.

In Python an example is the call of `tileir.Builder` that builds it, derived from the parsed example and the signature
of the builder's method, so a new operation has one without a line of code.  Operations with blocks, and the few whose
method does not take the operands of the declaration, are written by hand in `WRITTEN`.  `build` is the builder; values
have the names that they have in the example.
"""

from __future__ import annotations

import re

from tileir.annotations import Final
from tileir.dialect import ops
from tileir.dialect.attributes import PredicateAttribute
from tileir.dialect.enums import MEMORY_ORDERING
from tileir.dialect.inference import CONVERTED
from tileir.dialect.signature import Parameter, python_name, signature_of
from tileir.dialect.types import PointerType, TileType, scalar_tile
from tileir.interface import parse
from tileir.ir import attributes
from tileir.ir.core import Operation
from tileir.ir.declaration import OPTIONAL, VARIADIC, OperationDeclaration
from tileir.ir.diagnostics import ParseError
from tileir.ir.types import I32, Type
from tileir.ir.values import Value

# What stands around a statement that cannot stand alone in an entry.
FRAMES: Final[dict[OperationDeclaration, str]] = {
    ops.BREAK: "%r = loop : tile<f32> {{\n{example}\n}}",
    ops.CONTINUE: "%r = loop iter_values(%carried = %x) : tile<f32> -> tile<f32> {{\n{example}\n}}",
    ops.YIELD: "%r = if %condition -> (tile<f32>) {{\n{example}\n}} else {{\n{example}\n}}",
}
# What the module holds besides the entry.
COMPANIONS: Final[dict[OperationDeclaration, str]] = {ops.GET_GLOBAL: "global @table <f32: [0.5, 1.5]> : tile<2xf32>"}
# Examples that are items of a module, or modules.
ITEMS: Final = (ops.ENTRY, ops.GLOBAL)
MODULES: Final = (ops.MODULE, ops.BUILTIN_MODULE)

_VALUE = re.compile(r"%[A-Za-z_]\w*")
_DEFINITION = re.compile(r"^\s*(%[\w:]+(?:\s*,\s*%[\w:]+)*)\s*=", re.MULTILINE)
# Block arguments, the induction variable and the carried values of loops.
_LOCAL = re.compile(r"(%\w+)(?=:\s*tile|\s*=\s*%|\s+in\s*\()")


def program_of(declaration: OperationDeclaration) -> str:
    """The text of a module that contains the example."""
    if declaration in MODULES:
        return declaration.example
    if declaration in ITEMS:
        return f"cuda_tile.module @m {{\n{declaration.example}\n}}"
    attributes = "attributes {tileir.preview} " if declaration is ops.PREVIEW_CALL else ""
    return program_around(statement_of(declaration), COMPANIONS.get(declaration, ""), attributes)


def program_around(statement: str, companion: str = "", attributes: str = "") -> str:
    """The text of a module with a statement in an entry, and whatever values it needs."""
    types = dict.fromkeys(missing_values(statement), "tile<i1>")
    for _ in range(len(types) + 1):
        values = "\n".join([f"{name} = unrealized_conversion_cast to {type}" for name, type in types.items()])
        text = f"cuda_tile.module @m {attributes}{{\n{companion}\nentry @example() {{\n{values}\n{statement}\n}}\n}}"
        try:
            parse(text)
        except ParseError as error:
            found = [d.values for d in error.diagnostics if d.code == "type-of-use"]
            types.update([(values["name"], values["written"]) for values in found])
            if found:
                continue
        break
    return text


def statement_of(declaration: OperationDeclaration) -> str:
    """The example, inside of what it needs around it."""
    return FRAMES.get(declaration, "{example}").format(example=declaration.example)


def missing_values(statement: str) -> list[str]:
    """The values a statement uses and does not define, in order."""
    without_strings = re.sub(r'"[^"]*"', '""', statement)
    defined = {name for names in _DEFINITION.findall(without_strings) for name in _VALUE.findall(names)}
    defined.update(_LOCAL.findall(without_strings) if "{" in statement else [])
    return [name for name in dict.fromkeys(_VALUE.findall(without_strings)) if name not in defined]


WRITTEN: Final[dict[OperationDeclaration, str]] = {
    ops.MODULE: 'build = tileir.Builder("kernels", producer="example")\nwith build.entry("k"):\n    build.return_()',
    ops.ENTRY: 'hints = {"sm_100": {"num_cta_in_cga": 2}}\n'
    'with build.entry("k", ptr(f32), i32, optimization_hints=hints) as (data, n):\n    build.return_()',
    ops.GLOBAL: 'build.global_("table", [0.5, 1.5, 2.5, 3.5], f32, alignment=128)',
    ops.CONSTANT: "r = build.constant([1.0, 2.5], f32)",
    ops.REDUCE: "r = build.reduce(t, 0, 0.0, body=build.addf)",
    ops.SCAN: "r = build.scan(t, 1, 1.0, body=build.mulf)",
    ops.FOR: "with build.for_(lb, ub, s, init=[x]) as loop:\n    build.continue_(loop.value)\nr = loop.result",
    ops.IF: "with build.if_(c) as branch:\n    build.yield_(a)\n"
    "with branch.else_():\n    build.yield_(b)\nr = branch.result",
    ops.LOOP: "with build.loop(init=[x]) as loop:\n    build.break_(y)\nr = loop.result",
    ops.MAKE_TENSOR_VIEW: "tv = build.make_tensor_view(p, [n, 64], [64, 1])",
}

_RESULTS: Final = re.compile(r"\s*(%\w+(?:\s*,\s*%\w+)*)(?::\d+)?\s*=")


def builder_example(declaration: OperationDeclaration) -> str:
    """Python that builds the example of an operation; empty for operations of other dialects, which it cannot build."""
    if declaration.is_builtin or declaration in WRITTEN:
        return WRITTEN.get(declaration, "")
    module = parse(program_of(declaration))
    operation = next(found for found in reversed(list(module.walk())) if found.declaration is declaration)
    names = _names(module, declaration)
    arguments: list[str] = []
    by_name = False
    signature = signature_of(declaration)
    for parameter in [*signature.positional, *signature.keyword_only]:
        text = _argument(operation, parameter, names)
        # A mask or a token is easier to read with its name.
        is_optional = parameter.operand is not None and parameter.operand.count == OPTIONAL
        by_name = by_name or not text or is_optional or parameter in signature.keyword_only
        if signature.spread and text.startswith("["):
            arguments.append(text[1:-1])
        elif text:
            arguments.append(f"{python_name(parameter.name)}={text}" if by_name else text)
    results = _RESULTS.match(declaration.example)
    assigned = results.group(1).replace("%", "") + " = " if results is not None else ""
    return f"{assigned}build.{python_name(declaration.mnemonic)}({', '.join(arguments)})"


def _names(module: Operation, declaration: OperationDeclaration) -> dict[Value, str]:
    """What the example calls the values that it uses; the program around it begins with their definitions."""
    entry = next(found for found in module.walk() if found.declaration is ops.ENTRY)
    used = missing_values(statement_of(declaration))
    definitions = list(entry.regions[0].block)[: len(used)]
    return {definition.result: name[1:] for definition, name in zip(definitions, used, strict=True)}


def _argument(operation: Operation, parameter: Parameter, names: dict[Value, str]) -> str:
    """An argument in Python; empty where it is left out because it has its default."""
    if parameter.operand is not None:
        values = [python_name(names[value]) for value in operation.operand_group(parameter.name)]
        if parameter.operand.count == VARIADIC:
            return f"[{', '.join(values)}]" if values else ""
        return values[0] if values else ""
    if parameter.attribute is None:
        return _type_argument(operation, parameter)
    found = operation.attributes.get(parameter.name)
    # Accesses are weak by default.
    if found is None or (not parameter.required and found is MEMORY_ORDERING["weak"]):
        return ""
    return _attribute(found)


def _attribute(attribute: attributes.Attribute) -> str:
    if isinstance(attribute, attributes.EnumAttribute):
        return f'"{attribute.bare_text}"'
    if isinstance(attribute, attributes.StringAttribute):
        return '"' + attribute.value.encode("unicode_escape").decode() + '"'
    if isinstance(attribute, attributes.SymbolAttribute):
        return f'"{attribute.path[0]}"'
    if isinstance(attribute, attributes.IntegerAttribute):
        return str(attribute.value)
    if isinstance(attribute, attributes.DenseArrayAttribute):
        return str(list(attribute.values))
    if isinstance(attribute, attributes.ArrayAttribute):
        return f"[{', '.join([_attribute(element) for element in attribute.elements])}]"
    if isinstance(attribute, PredicateAttribute):
        return attribute.bare_text.replace("<", "(").replace(">", ")")
    if attribute is attributes.UNIT:
        return "True"
    raise ValueError(f"{attribute.text} has no spelling in Python: write the example by hand")


def _type_argument(operation: Operation, parameter: Parameter) -> str:
    name = parameter.name
    types = [result.type for result in operation.results]
    if name == "regions" or (name == "types" and not types):
        return ""
    if name == "types":
        return f"[{', '.join([_type(type) for type in types])}]"
    type = types[0]
    if name == "type" and isinstance(type, TileType):
        is_default = not parameter.required and type is scalar_tile(I32)
        short = signature_of(operation.declaration).inference is CONVERTED or not type.shape
        return "" if is_default else _type(type.element if short else type)
    # `shape` of a tile; `tile`, `padding`, `dim_map`, `traversal_strides` or `sparse_dim` of a view.
    value = getattr(type, "tile_shape" if name == "tile" else name)
    if isinstance(value, attributes.Attribute):
        return _attribute(value)
    is_identity = name == "dim_map" and value == tuple(range(len(value)))
    return "" if value is None or is_identity else str(value)


def _type(type: Type) -> str:
    """A type in the names of `tileir.types`."""
    if isinstance(type, TileType):
        return f"tile({type.shape}, {_type(type.element)})" if type.shape else f"tile({_type(type.element)})"
    if isinstance(type, PointerType):
        return f"ptr({_type(type.pointee)})"
    return type.spelling
