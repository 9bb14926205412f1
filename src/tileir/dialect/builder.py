"""Programs from Python: every declared operation is a method of `Builder`.

    b = Builder("kernels")
    with b.entry("double", ptr(f32)) as (data,):
        x, token = b.load_ptr_tko(data)
        b.store_ptr_tko(data, b.addf(x, x), token=token)
    module = b.finish()

There is no method per operation: a name that is not found on the class is looked up among the declarations, and the
arguments are bound to what it declares (`signature.py`), Python values become attributes (`literals.py`), result types
are inferred (`inference.py`).  Each operation is verified as it is built, so that an error is reported at its line;
`finish` verifies the whole.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import tileir.dialect.ops  # noqa: F401  (declares the operations)
from tileir.annotations import Callable
from tileir.dialect.construct import described, element, tile, value_type
from tileir.dialect.inference import Call, result_types
from tileir.dialect.literals import dense_of, literal_shape, number_attribute
from tileir.dialect.ops import CONSTANT, ENTRY, FOR, GLOBAL, IF, LOOP, MODULE, REDUCE, SCAN, YIELD
from tileir.dialect.scopes import BodyScope, BranchScope, BuilderPosition, EntryScope, LoopScope
from tileir.dialect.signature import Signature, bind, made_operation, make_operands, python_name, signature_of
from tileir.dialect.types import TileType, scalar_tile
from tileir.ir.attributes import Attribute, array_attribute, string_attribute
from tileir.ir.core import Block, InsertionPoint, Module, Operation, Region
from tileir.ir.declaration import ONE, OperationDeclaration, VerifyContext
from tileir.ir.dense import DenseAttribute
from tileir.ir.diagnostics import BuildError, VerifyError, has_errors
from tileir.ir.location import UNKNOWN, Location, file_location
from tileir.ir.quoting import close_names, type_text
from tileir.ir.registry import REGISTRY
from tileir.ir.symbols import Symbols
from tileir.ir.traits import ISOLATED, SYMBOL_TABLE
from tileir.ir.types import Type, function_type
from tileir.ir.values import Value
from tileir.ir.verifier import verify_operation
from tileir.ir.versions import NEWEST_NAME, Version, version_named

_PREFIX: Final = "cuda_tile."


class OperationMethod:
    """An operation of the builder, ready to be called; it prints as its signature."""

    def __init__(self, builder: Builder, declaration: OperationDeclaration) -> None:
        self._builder: Builder = builder
        self._signature: Signature = signature_of(declaration)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Build the operation: one result is a value, several are a tuple, none is None."""
        operation = self._builder.build(self._signature.declaration, args, keywords)
        declared = self._signature.declaration.results
        if len(declared) == 1 and declared[0].count == ONE:
            return operation.results[0]
        return tuple(operation.results) if declared else None

    def __get__(self, instance: object, owner: object = None) -> OperationMethod:
        """Itself: what has this method is a routine for `help`."""
        return self

    @property
    def __name__(self) -> str:
        return python_name(self._signature.declaration.mnemonic)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return self._signature.documentation

    @property
    def __signature__(self) -> object:
        return self._signature.inspected()

    def __repr__(self) -> str:
        return self._signature.text


class Builder(BuilderPosition):
    """Builds a module, or adds to one.

    `Builder("name")` starts a new module; `Builder(block=..., before=...)` adds to an existing block.  With
    `locations` each operation carries the file and line of the Python code that built it.  `version`, "13.1" to "13.4",
    is the version of the dialect whose rules hold.

    >>> build = tileir.Builder("m")
    >>> with build.entry("k", tileir.types.tile(tileir.types.i32)) as (x,):
    ...     double = build.addi(x, x)
    >>> build.finish()
    <Module cuda_tile.module @m {@k}>
    """

    def __init__(
        self,
        name: str = "kernels",
        *,
        producer: str | None = None,
        locations: bool = False,
        version: str = NEWEST_NAME,
        block: Block | None = None,
        before: Operation | None = None,
    ) -> None:
        for what, given in (("name", name), ("producer", producer if producer is not None else "")):
            if not isinstance(given, str):
                raise TypeError(f"the {what} of a module is a string, not {type_text(given)}")
        if block is not None and not isinstance(block, Block):
            raise TypeError(f"a builder adds to a Block, not to {type_text(block)}")
        self.version: Version = version_named(version)
        self.locations: bool = locations
        self.location: Location = UNKNOWN
        """The location of operations that are built without one of their own."""
        self._symbols: Symbols = Symbols()
        if block is None:
            block = Block()
            attributes: dict[str, Attribute] = {"sym_name": string_attribute(name)}
            if producer is not None:
                attributes["producer"] = string_attribute(producer)
            location = _caller() if locations else UNKNOWN
            Module(MODULE, [], [], attributes, [Region([block])], location)
        super().__init__(InsertionPoint(block, before))

    @property
    def module(self) -> Operation:
        """The outermost operation around the insertion point, as it is now."""
        found = self.point.block.parent_operation
        if found is None:
            raise BuildError("the block of this builder belongs to no operation")
        while (outer := found.parent_operation) is not None:
            found = outer
        return found

    def finish(self) -> Operation:
        """The module, verified: `VerifyError` carries every error."""
        if self.scopes:
            raise BuildError(f"{self.scopes[-1].name}: the block is still open")
        module = self.module
        context = VerifyContext(self.version)
        verify_operation(module, context)
        if has_errors(context.diagnostics):
            raise VerifyError(context.diagnostics)
        return module

    # --- any operation ---

    def __getattr__(self, name: str) -> Any:
        mnemonic = name.removesuffix("_").replace("preview_", "preview$")
        declaration = REGISTRY.by_name.get(_PREFIX + mnemonic)
        if declaration is None or name.startswith("_"):
            raise AttributeError(_unknown(name))
        if hasattr(Builder, f"{name}_"):
            # `for`, `global` and `if` by their plain names.
            return getattr(self, f"{name}_")
        return OperationMethod(self, declaration)

    def __repr__(self) -> str:
        around = self.point.block.parent_operation
        return f"<Builder in {around!r}>" if around is not None else "<Builder in a block of no operation>"

    def __reduce__(self) -> str:
        raise TypeError("a Builder cannot be copied: copy the module that finish() returns")

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *[d.mnemonic for d in REGISTRY.declarations()]})

    def operation(self, mnemonic: str, *args: Any, **keywords: Any) -> Operation:
        """Build an operation by name and get the operation instead of its results."""
        if not isinstance(mnemonic, str):
            raise TypeError(f"the name of an operation is a string, not {type_text(mnemonic)}")
        declaration = REGISTRY.by_name.get(mnemonic if "." in mnemonic else _PREFIX + mnemonic)
        if declaration is None:
            raise BuildError(_unknown(mnemonic))
        return self.build(declaration, args, keywords)

    def build(
        self, declaration: OperationDeclaration, args: tuple[object, ...], keywords: dict[str, object]
    ) -> Operation:
        """Bind, convert, infer, insert, verify; nothing is inserted unless all of it succeeds."""
        call = Call(declaration, self.point.block, self._symbols)
        location: Location = UNKNOWN
        try:
            location = self._location(keywords)
            self._check_not_ended()
            signature = signature_of(declaration)
            bind(signature, call, args, keywords)
            constants = make_operands(call, location)
            types = result_types(call, signature.inference)
        except BuildError as failure:
            raise BuildError(f"{declaration.mnemonic}: {failure.message}", location) from None
        operation = made_operation(call, types, location)
        for constant in constants:
            self.point.insert(constant)
        self.point.insert(operation)
        self._symbols.add(operation)
        if not declaration.is_terminator and not declaration.regions:
            self._verify(operation, constants)
        return operation

    def _location(self, keywords: dict[str, object]) -> Location:
        given = keywords.get("location")
        if given is None:
            return _caller() if self.locations else self.location
        if not isinstance(given, Location):
            raise BuildError(f"'location' must be a location, got {described(given)}")
        return given

    def _check_not_ended(self) -> None:
        last = self.point.block.last
        if self.point.before is None and last is not None and last.declaration.is_terminator:
            raise BuildError(f"the block has ended with '{last.declaration.mnemonic}'")

    def _verify(self, operation: Operation, constants: list[Operation]) -> None:
        context = VerifyContext(self.version, symbols=self._symbols)
        verify_operation(operation, context)
        if has_errors(context.diagnostics):
            operation.erase()
            for constant in constants:
                constant.erase()
            raise VerifyError(context.diagnostics)

    # --- operations whose arguments are not those of their declaration ---
    #
    # Arguments are typed `object` on purpose: a compiled build checks narrower types itself, with a TypeError that
    # explains nothing.

    def constant(self, value: object, type: object, **keywords: Any) -> Value:
        """A constant tile: one number for all elements, nested lists (or an array), or bytes.

        `type` is a tile type; an element type means the scalar, or the shape of the lists.
        """
        dense = self._dense(CONSTANT, value, type, keywords)
        return self.build(CONSTANT, (dense.type, dense), keywords).result

    def global_(self, name: object, value: object, type: object, **keywords: Any) -> Operation:
        """A variable of the module around the insertion point; `type` as for `constant`, with one dimension."""
        dense = self._dense(GLOBAL, value, type, keywords)
        inside = self.point
        self.point = InsertionPoint(self._symbol_table())
        try:
            return self.build(GLOBAL, (name, dense), keywords)
        finally:
            self.point = inside

    def _dense(
        self, declaration: OperationDeclaration, value: object, type: object, keywords: dict[str, Any]
    ) -> DenseAttribute:
        try:
            kind = type if isinstance(type, TileType) else tile(literal_shape(value), element(type))
            return dense_of(value, kind)
        except BuildError as failure:
            raise self._refused(declaration, failure, keywords) from None

    def _refused(self, declaration: OperationDeclaration, failure: BuildError, keywords: dict[str, Any]) -> BuildError:
        return BuildError(f"{declaration.mnemonic}: {failure.message}", self._location(keywords))

    def _symbol_table(self) -> Block:
        """The body of the module around the builder."""
        block = self.point.block
        around = block.parent_operation
        while around is not None and not around.declaration.is_symbol_table:
            if around.parent is None:
                raise BuildError("global: there is no module around")
            block = around.parent
            around = block.parent_operation
        return block

    # --- blocks ---

    def entry(self, name: object, *argument_types: object, **keywords: Any) -> EntryScope:
        """A kernel: `with b.entry("k", ptr(f32), i32) as (data, count): ...`.

        An element or pointer type stands for its scalar tile.
        """
        around = self.point.block.parent_operation
        if around is not None and around.declaration.traits & ISOLATED and not around.declaration.traits & SYMBOL_TABLE:
            raise BuildError(f"entry: the kernel '{around.symbol_name}' is still open")
        try:
            types = [value_type(type) for type in argument_types]
        except BuildError as failure:
            raise self._refused(ENTRY, failure, keywords) from None
        block = Block()
        location = self._location(keywords)
        for type in types:
            block.add_argument(type, location)
        signature = function_type(tuple(types), ())
        keywords["regions"] = [Region([block])]
        operation = self.build(ENTRY, (name, signature), keywords)
        return EntryScope(self, operation, block)

    def if_(self, condition: object, types: object = (), **keywords: Any) -> BranchScope:
        """A branch: `with b.if_(condition) as branch: ...`, then `with branch.else_(): ...`.

        The results have the types that the first `yield_` passes, or `types`.
        """
        block = Block()
        keywords["regions"] = [Region([block]), Region()]
        operation = self.build(IF, (condition,), {"types": types, **keywords})
        return BranchScope(self, operation, block)

    def for_(
        self,
        lower: object,
        upper: object,
        step: object = 1,
        init: object = (),
        *,
        unsigned: object = False,
        **keywords: Any,
    ) -> LoopScope:
        """A counted loop: `with b.for_(0, n, init=[zero]) as loop: ...`; end with `continue_` of the next values."""
        region = Region([Block()])
        keywords["regions"] = [region]
        bounds = (lower, upper, step, init)
        operation = self.build(FOR, bounds, {"unsignedCmp": unsigned, **keywords})
        for value in [operation.operands[0], *operation.operands[3:]]:
            region.block.add_argument(value.type, operation.location)
        return LoopScope(self, operation, region.block)

    def loop(self, init: object = (), types: object = (), **keywords: Any) -> LoopScope:
        """A loop that `break_` ends; the results have the types that the first `break_` passes, or `types`."""
        region = Region([Block()])
        keywords["regions"] = [region]
        operation = self.build(LOOP, (init,), {"types": types, **keywords})
        for value in operation.operands:
            region.block.add_argument(value.type, operation.location)
        return LoopScope(self, operation, region.block)

    def reduce(
        self, operands: object, dim: object, identities: object, body: Callable[..., Any] | None = None, **keywords: Any
    ) -> Any:
        """Combine the elements along a dimension.

        With `body`, a function of an element and what was accumulated (per tile), the results; otherwise a scope:
        `with b.reduce(x, 0, 0.0) as body: b.yield_(b.addf(*body.arguments))`.
        """
        return self._aggregate(REDUCE, operands, dim, identities, body, keywords)

    def scan(
        self,
        operands: object,
        dim: object,
        identities: object,
        body: Callable[..., Any] | None = None,
        *,
        reverse: object = False,
        **keywords: Any,
    ) -> Any:
        """Running combination along a dimension; as `reduce`."""
        return self._aggregate(SCAN, operands, dim, identities, body, {"reverse": reverse, **keywords})

    def _aggregate(
        self,
        declaration: OperationDeclaration,
        operands: object,
        dim: object,
        identities: object,
        body: Callable[..., Any] | None,
        keywords: dict[str, Any],
    ) -> Any:
        several = isinstance(operands, (list, tuple))
        tiles: list[object] = list(operands) if isinstance(operands, (list, tuple)) else [operands]
        neutral: list[object] = list(identities) if isinstance(identities, (list, tuple)) else [identities]
        block = Block()
        try:
            elements = _elements(tiles, neutral)
            numbers = [number_attribute(n, e) for n, e in zip(neutral, elements, strict=True)]
        except BuildError as failure:
            raise self._refused(declaration, failure, keywords) from None
        keywords["regions"] = [Region([block])]
        keywords["dim"] = dim
        keywords["identities"] = array_attribute(tuple(numbers))
        operation = self.build(declaration, (tiles,), keywords)
        for type in elements:
            block.add_argument(scalar_tile(type), operation.location)
            block.add_argument(scalar_tile(type), operation.location)
        scope = BodyScope(self, operation, block)
        if body is None:
            return scope
        with scope:
            combined = body(*scope.arguments)
            if combined is not None:
                self.build(YIELD, (combined if isinstance(combined, (list, tuple)) else [combined],), {})
        return scope.results if several else scope.result


def _elements(tiles: list[object], identities: list[object]) -> list[Type]:
    if len(tiles) != len(identities):
        raise BuildError(f"there must be one identity per tile: {len(tiles)} tiles, {len(identities)} identities")
    found: list[Type] = []
    for item in tiles:
        if not isinstance(item, Value) or not isinstance(item.type, TileType):
            raise BuildError(f"'operands' must be tiles, got {described(item)}")
        found.append(item.type.element)
    return found


def _unknown(name: str) -> str:
    close = close_names(name, [d.mnemonic for d in REGISTRY.declarations()])
    return f"there is no operation '{name}'" + (f"; did you mean '{close[0]}'?" if close else "")


def _caller() -> Location:
    """The line of the caller: the innermost frame outside this package.  A compiled layer has no frames to skip."""
    frame = sys._getframe()
    while str(frame.f_globals.get("__name__", "")).startswith("tileir.") and frame.f_back is not None:
        frame = frame.f_back
    return file_location(frame.f_code.co_filename, frame.f_lineno, 0)
