"""An operation as a Python function: its parameters, read off its declaration, and binding arguments to them.

By position or by name come the operands, then what describes the result type (`inference.py`), then the attributes
that must be given.  By name only come all other attributes, and for every operation `attributes` (a dictionary of
discardable attributes) and `location`.  An operand of any number of values takes a list; where it is the only
parameter the values may also stand one by one.  A name that is a Python keyword may end in an underscore.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.calls import Call
from tileir.dialect.construct import described
from tileir.dialect.enums import MEMORY_ORDERING
from tileir.dialect.inference import Inference, inference_of
from tileir.dialect.literals import any_attribute, declared_attribute
from tileir.ir.core import Region
from tileir.ir.declaration import (
    ONE,
    OPTIONAL,
    VARIADIC,
    AttributeDeclaration,
    OperandDeclaration,
    OperationDeclaration,
)
from tileir.ir.diagnostics import BuildError
from tileir.ir.location import Location
from tileir.ir.values import Value


class Parameter:
    """One argument: exactly one of `operand`, `attribute` and `extra` says what it is."""

    __slots__ = ("attribute", "extra", "name", "operand", "required")

    def __init__(
        self,
        name: str,
        required: bool,
        operand: OperandDeclaration | None = None,
        attribute: AttributeDeclaration | None = None,
    ) -> None:
        self.name: str = name
        self.required: bool = required
        self.operand: OperandDeclaration | None = operand
        self.attribute: AttributeDeclaration | None = attribute
        self.extra: bool = operand is None and attribute is None

    @property
    def noun(self) -> str:
        if self.operand is not None:
            return "operand"
        return "attribute" if self.attribute is not None else "argument"


class Signature:
    """The parameters of an operation."""

    __slots__ = ("by_name", "declaration", "inference", "keyword_only", "positional", "spread")

    def __init__(self, declaration: OperationDeclaration) -> None:
        self.declaration: OperationDeclaration = declaration
        self.inference: Inference = inference_of(declaration)
        self.positional: list[Parameter] = []
        self.keyword_only: list[Parameter] = []
        for operand in declaration.operands:
            if operand.name not in self.inference.hidden:
                self.positional.append(Parameter(operand.name, operand.count == ONE, operand=operand))
        for name in self.inference.required:
            self.positional.append(Parameter(name, True))
        for name in self.inference.optional:
            self.keyword_only.append(Parameter(name, False))
        for attribute in declaration.attributes:
            required = attribute.default is None and not attribute.optional and not _is_weak_by_default(self, attribute)
            (self.positional if required else self.keyword_only).append(
                Parameter(attribute.name, required, attribute=attribute)
            )
        if declaration.regions:
            self.keyword_only.append(Parameter("regions", False))
        self.by_name: dict[str, Parameter] = {}
        for parameter in [*self.positional, *self.keyword_only]:
            self.by_name[parameter.name] = parameter
        only = self.positional[0].operand if len(self.positional) == 1 else None
        self.spread: bool = only is not None and only.count == VARIADIC

    @property
    def text(self) -> str:
        """The signature as a reader of error messages sees it: `addi(lhs, rhs, *, overflow='none')`."""
        parts = [p.name if p.required else f"{p.name}={_default_text(p)}" for p in self.positional]
        if self.spread:
            parts = [f"*{self.positional[0].name}"]
        elif self.keyword_only:
            parts.append("*")
        parts.extend([f"{p.name}={_default_text(p)}" for p in self.keyword_only])
        return f"{self.declaration.mnemonic}({', '.join(parts)})"


def _default_text(parameter: Parameter) -> str:
    attribute = parameter.attribute
    if attribute is not None:
        if attribute.constraint.kind == "unit":
            return "False"
        if attribute.default is not None:
            return (
                repr(attribute.default.bare_text)
                if attribute.constraint.kind == "enum"
                else attribute.default.bare_text
            )
        if not attribute.optional:
            return "'weak'"
    if parameter.operand is not None and parameter.operand.count == VARIADIC:
        return "()"
    return "None"


def _is_weak_by_default(signature: Signature, attribute: AttributeDeclaration) -> bool:
    """A load or store that does not synchronise with anybody needs not say so."""
    scope = signature.declaration.inherent.get("memory_scope")
    return attribute.name == "memory_ordering_semantics" and scope is not None and scope.optional


_signatures: Final[dict[OperationDeclaration, Signature]] = {}


def signature_of(declaration: OperationDeclaration) -> Signature:
    found = _signatures.get(declaration)
    if found is None:
        found = _signatures[declaration] = Signature(declaration)
    return found


# --- binding ---


def bind(signature: Signature, call: Call, args: tuple[object, ...], keywords: dict[str, object]) -> None:
    """Sort the arguments of a call by what they are for; every mistake names what the operation takes."""
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
        elif name != "location":
            call.fail(f"there is no argument '{keyword}': {signature.text}")
    for parameter in signature.positional:
        if parameter.required and (parameter.name not in bound or bound[parameter.name] is None):
            call.fail(f"{parameter.noun} '{parameter.name}' is missing: {signature.text}")
    for name, value in bound.items():
        if value is not None:
            _place(call, signature.by_name[name], value)
    signature.inference.prepare(call)
    _convert_attributes(signature, call, discardable)


def _place(call: Call, parameter: Parameter, value: object) -> None:
    operand = parameter.operand
    if operand is not None:
        if operand.count == VARIADIC:
            call.given[operand.name] = list(value) if isinstance(value, (list, tuple)) else [value]
        else:
            call.given[operand.name] = [value]
    elif parameter.attribute is not None:
        call.raw_attributes[parameter.name] = value
    elif parameter.name == "regions":
        if not isinstance(value, (list, tuple)):
            call.fail(f"'regions' must be a list of regions, got {described(value)}")
        for region in value:
            if not isinstance(region, Region):
                call.fail(f"'regions' must be a list of regions, got {described(region)} in it")
            call.regions.append(region)
    else:
        call.extras[parameter.name] = value


def _convert_attributes(signature: Signature, call: Call, discardable: object) -> None:
    for declared in signature.declaration.attributes:
        value = call.raw_attributes.get(declared.name)
        if value is None:
            if _is_weak_by_default(signature, declared):
                call.attributes[declared.name] = MEMORY_ORDERING["weak"]
            continue
        found = declared_attribute(declared, value)
        # An attribute at its default is left out, as the parser leaves it out.
        if found is not None and found is not declared.default:
            call.attributes[declared.name] = found
    if discardable is None:
        return
    if not isinstance(discardable, dict):
        call.fail(f"'attributes' must be a dictionary, got {described(discardable)}")
    for name, value in discardable.items():
        if not isinstance(name, str) or name in signature.declaration.inherent:
            call.fail(f"'attributes' takes the names of discardable attributes, got {described(name)}")
        call.attributes[name] = any_attribute(value)


def check_counts(call: Call) -> None:
    """Operands of one value have one, values are values."""
    for operand in call.declaration.operands:
        given = call.given.get(operand.name, [])
        if operand.count in (ONE, OPTIONAL) and len(given) > 1:
            call.fail(f"operand '{operand.name}' takes one value, got {len(given)}")
        for item in given:
            if isinstance(item, (list, tuple)) or not isinstance(item, (Value, bool, int, float)):
                call.fail(f"operand '{operand.name}' must be a value or a number, got {described(item)}")


def location_argument(keywords: dict[str, object]) -> Location | None:
    """The `location` of a call, where one was given."""
    found = keywords.get("location")
    if found is None or isinstance(found, Location):
        return found
    raise BuildError(f"'location' must be a location, got {described(found)}")
