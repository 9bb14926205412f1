"""An operation as a Python function: its parameters, read off its declaration, and binding arguments to them.

By position or by name come the operands, then what describes the result type (`inference.py`), then the attributes
that must be given.  By name only come all other attributes, and for every operation `attributes` (a dictionary of
discardable attributes) and `location`.  A variadic operand takes a list; where it is the only parameter, the values may
also be separate arguments.  A name that is a Python keyword may end in an underscore.
"""

from __future__ import annotations

from keyword import iskeyword

from tileir.annotations import TYPE_CHECKING, Final
from tileir.dialect.construct import described
from tileir.dialect.inference import Call, Inference, inference_of, number_type
from tileir.dialect.literals import any_attribute, declared_attribute, dense_of, is_number
from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import TileType
from tileir.ir.attributes import Attribute
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Operation, Region
from tileir.ir.declaration import ONE, VARIADIC, AttributeDeclaration, OperandDeclaration, OperationDeclaration
from tileir.ir.location import Location
from tileir.ir.traits import SEGMENTS
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.ir.versions import version_text

if TYPE_CHECKING:
    import inspect

# The parameters of every operation.
COMMON: Final = ("location", "attributes")


def python_name(name: str) -> str:
    """A declared name as a Python parameter or method has it: `from_` for `from`, `preview_call` for `preview$call`."""
    return f"{name}_" if iskeyword(name) else name.replace("$", "_")


class Parameter:
    """One argument: an operand, an attribute, or where it is neither a part of the result type or the regions."""

    def __init__(
        self,
        name: str,
        required: bool = False,
        default: object = None,
        operand: OperandDeclaration | None = None,
        attribute: AttributeDeclaration | None = None,
    ) -> None:
        self.name: str = name
        self.required: bool = required
        self.default: object = default
        self.operand: OperandDeclaration | None = operand
        self.attribute: AttributeDeclaration | None = attribute

    @property
    def noun(self) -> str:
        if self.operand is not None:
            return "operand"
        return "attribute" if self.attribute is not None else "argument"

    @property
    def text(self) -> str:
        return self.name if self.required else f"{self.name}={self.default!r}"


class Signature:
    """The parameters of an operation.

    With `spread` the only positional one is a variadic operand, whose values may be separate arguments.
    """

    def __init__(self, declaration: OperationDeclaration) -> None:
        self.declaration: OperationDeclaration = declaration
        self.inference: Inference = inference_of(declaration)
        self.positional: list[Parameter] = []
        for operand in declaration.operands:
            if operand.name not in self.inference.hidden:
                default = () if operand.count == VARIADIC else None
                self.positional.append(Parameter(operand.name, operand.count == ONE, default, operand=operand))
        self.positional += [Parameter(name, True) for name in self.inference.required]
        self.keyword_only: list[Parameter] = [Parameter(name) for name in self.inference.optional]
        for attribute in declaration.attributes:
            value = _default(declaration, attribute)
            required = value is None and not attribute.optional
            parameter = Parameter(attribute.name, required, value, attribute=attribute)
            (self.positional if required else self.keyword_only).append(parameter)
        if declaration.regions:
            self.keyword_only.append(Parameter("regions"))
        self.by_name: dict[str, Parameter] = {each.name: each for each in (*self.positional, *self.keyword_only)}
        only = self.positional[0].operand if len(self.positional) == 1 else None
        self.spread: bool = only is not None and only.count == VARIADIC

    @property
    def text(self) -> str:
        """The signature as a reader of error messages sees it: `addi(lhs, rhs, *, overflow='none')`."""
        parts = [f"*{self.positional[0].name}"] if self.spread else [each.text for each in self.positional]
        if self.keyword_only and not self.spread:
            parts.append("*")
        parts += [each.text for each in self.keyword_only]
        return f"{self.declaration.mnemonic}({', '.join(parts)})"

    def ways(self) -> list[tuple[list[Parameter], list[Parameter]]]:
        """The parameters by position and by name, as Python functions.

        Operations may have an optional operand before an attribute that is required.  Python has no such function, so
        there is one for each number of optional operands that are given by position.
        """
        parameters = self.positional
        last = max([index for index, parameter in enumerate(parameters) if parameter.required], default=-1)
        early = [index for index, parameter in enumerate(parameters[: last + 1]) if not parameter.required]
        return [(parameters[:stop], [*parameters[stop:], *self.keyword_only]) for stop in [*early, len(parameters)]]

    def inspected(self) -> inspect.Signature:
        """The signature for `inspect.signature` and `help`; of several ways the one with the most names."""
        # Takes longer to import than most programs to build.
        import inspect

        kind = inspect.Parameter.VAR_POSITIONAL if self.spread else inspect.Parameter.POSITIONAL_OR_KEYWORD
        by_position, by_name = self.ways()[0]
        found: list[inspect.Parameter] = []
        for each in by_position:
            default = inspect.Parameter.empty if each.required or self.spread else each.default
            found.append(inspect.Parameter(python_name(each.name), kind, default=default))
        for each in [*by_name, *[Parameter(name) for name in COMMON]]:
            default = inspect.Parameter.empty if each.required else each.default
            found.append(inspect.Parameter(python_name(each.name), inspect.Parameter.KEYWORD_ONLY, default=default))
        return inspect.Signature(found)

    @property
    def documentation(self) -> str:
        """The summary of the operation and a line for each operand and attribute."""
        declaration = self.declaration
        since = "" if declaration.since is None else f" (since {version_text(declaration.since)})"
        lines = [f"{_sentence(declaration.summary)[:-1]}{since}."]
        parts = [(each.name, each.documentation) for each in declaration.operands]
        parts += [(each.name, each.documentation) for each in declaration.attributes]
        documented = [f"{python_name(name)}: {_sentence(text)}" for name, text in parts if name in self.by_name]
        return "\n".join([*lines, "", *documented] if documented else lines)


def _sentence(text: str) -> str:
    line = " ".join(text.split())
    return line if line.endswith(".") else line + "."


def _default(declaration: OperationDeclaration, attribute: AttributeDeclaration) -> object:
    """The Python default of an attribute; None where there is none."""
    kind = attribute.constraint.kind
    if kind == "unit":
        return False
    if attribute.default is not None:
        return attribute.default.bare_text if kind == "enum" else int(attribute.default.bare_text)
    # Loads and stores are weak by default.
    scope = declaration.inherent.get("memory_scope")
    is_weak = attribute.name == "memory_ordering_semantics" and scope is not None and scope.optional
    return "weak" if is_weak else None


_signatures: Final[dict[OperationDeclaration, Signature]] = {}


def signature_of(declaration: OperationDeclaration) -> Signature:
    found = _signatures.get(declaration)
    if found is None:
        found = _signatures[declaration] = Signature(declaration)
    return found


def bind(signature: Signature, call: Call, args: tuple[object, ...], keywords: dict[str, object]) -> None:
    """Assign the arguments of a call to parameters; every error message has the signature."""
    bound: dict[str, object] = {}
    if signature.spread:
        if args:
            name = signature.positional[0].name
            bound[name] = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    elif len(args) > len(signature.positional):
        call.fail(
            f"{len(args)} arguments given by position, at most {len(signature.positional)} taken: {signature.text}"
        )
    else:
        for parameter, value in zip(signature.positional, args, strict=False):
            bound[parameter.name] = value
    discardable: object = None
    for keyword, value in keywords.items():
        name = keyword if keyword in signature.by_name else keyword.removesuffix("_")
        if name in signature.by_name:
            if name in bound:
                call.fail(f"'{name}' is given twice: {signature.text}")
            bound[name] = value
        elif name == "attributes":
            discardable = value
        elif name not in COMMON:
            call.fail(f"there is no argument '{keyword}': {signature.text}")
    for parameter in signature.positional:
        if parameter.required and (parameter.name not in bound or bound[parameter.name] is None):
            call.fail(f"{parameter.noun} '{parameter.name}' is missing: {signature.text}")
    for name, value in bound.items():
        if value is not None:
            _assign(call, signature.by_name[name], value)
    if signature.inference.prepare is not None:
        signature.inference.prepare(call)
    for declared in signature.declaration.attributes:
        given = bound.get(declared.name)
        if given is None and declared.default is None:
            given = signature.by_name[declared.name].default
        found = declared_attribute(declared, given) if given is not None else None
        # An attribute at its default is left out, as the parser leaves it out.
        if found is not None and found is not declared.default:
            call.attributes[declared.name] = found
    if discardable is not None:
        _add_discardable(call, discardable)


def _assign(call: Call, parameter: Parameter, value: object) -> None:
    if parameter.operand is not None:
        if parameter.operand.count == VARIADIC and isinstance(value, (list, tuple)):
            call.given[parameter.name] = list(value)
        else:
            call.given[parameter.name] = [value]
    elif parameter.name == "regions":
        if not isinstance(value, (list, tuple)):
            call.fail(f"'regions' must be a list of regions, got {described(value)}")
        for region in value:
            if not isinstance(region, Region):
                call.fail(f"'regions' must be a list of regions, got {described(region)} in it")
            call.regions.append(region)
    elif parameter.attribute is None:
        call.extras[parameter.name] = value


def _add_discardable(call: Call, attributes: object) -> None:
    if not isinstance(attributes, dict):
        call.fail(f"'attributes' must be a dictionary, got {described(attributes)}")
    for name, value in attributes.items():
        if not isinstance(name, str) or name in call.declaration.inherent:
            call.fail(f"'attributes' takes the names of discardable attributes, got {described(name)}")
        call.attributes[name] = any_attribute(value)


def make_operands(call: Call, location: Location) -> list[Operation]:
    """Make values of the given operands; return the constants for numbers, which are not inserted yet."""
    declared = call.declaration.operands
    for operand in declared:
        given = call.given.get(operand.name, [])
        if operand.count != VARIADIC and len(given) > 1:
            call.fail(f"operand '{operand.name}' takes one value, got {len(given)}")
        for item in given:
            if not isinstance(item, Value) and not is_number(item):
                call.fail(f"operand '{operand.name}' must be a value or a number, got {described(item)}")
        call.operands[operand.name] = [item for item in given if isinstance(item, Value)]
    constants: list[Operation] = []
    for operand in declared:
        given = call.given.get(operand.name, [])
        if not any(is_number(item) for item in given):
            continue
        values: list[Value] = []
        for position, item in enumerate(given):
            if not isinstance(item, Value):
                type = number_type(call, operand, position)
                if not isinstance(type, TileType):
                    call.fail(
                        f"the type of {described(item)} for '{operand.name}' is not known; give a value, "
                        f"like constant({described(item)}, type)"
                    )
                attributes: dict[str, Attribute] = {"value": dense_of(item, type)}
                constant = Operation(CONSTANT, [], [type], attributes, NO_REGIONS, location)
                constants.append(constant)
                item = constant.result
            values.append(item)
        call.operands[operand.name] = values
    return constants


def made_operation(call: Call, types: list[Type], location: Location) -> Operation:
    declaration = call.declaration
    operands: list[Value] = []
    for operand in declaration.operands:
        operands.extend(call.operands[operand.name])
    segments: tuple[int, ...] | None = None
    if declaration.traits & SEGMENTS:
        segments = tuple([len(call.operands[operand.name]) for operand in declaration.operands])
    attributes = call.attributes if call.attributes else NO_ATTRIBUTES
    regions = call.regions if call.regions else NO_REGIONS
    return Operation(declaration, operands, types, attributes, regions, location, segments)
