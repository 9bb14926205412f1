"""The types a statement needs: of an operand that is still missing, of a result that is not written yet.

What the builder finds by itself (`dialect/inference.py`) comes first.  Where it has to be told (the shape of a reshape,
the tile of a view), types that the program uses already are tried, and those that the operation's rules refuse are left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tileir.dialect.construct import gather_scatter_view, partition_view, strided_view
from tileir.dialect.inference import Call, inference_of, number_type, result_types
from tileir.dialect.types import (
    TOKEN,
    TensorViewType,
    TileType,
    pointer_type,
    scalar_tile,
    tensor_view_type,
    tile_type,
    with_element,
)
from tileir.ir.attributes import Attribute
from tileir.ir.core import NO_REGIONS, Block, Operation
from tileir.ir.declaration import ONE, OperandDeclaration, OperationDeclaration, VerifyContext
from tileir.ir.diagnostics import Invalid, TileIRError
from tileir.ir.location import UNKNOWN
from tileir.ir.symbols import Symbols
from tileir.ir.traits import SEGMENTS
from tileir.ir.types import F16, F32, I1, I8, I32, I64, Type
from tileir.ir.values import Value

_SYMBOLS: Final = Symbols()
# So many types of the program are tried.
_TRIED: Final = 12
# What numbers are converted to, where the program says nothing.
_USUAL_ELEMENTS: Final[tuple[Type, ...]] = (F32, F16, I32, I64, I8)
_TENSOR: Final = tensor_view_type(F32, (64,), (1,))
# One of each kind, for where the program has none that fits.
USUAL_TYPES: Final[tuple[Type, ...]] = (
    scalar_tile(F32),
    scalar_tile(I32),
    scalar_tile(I1),
    scalar_tile(pointer_type(F32)),
    tile_type((16,), I32),
    TOKEN,
    _TENSOR,
    partition_view((16,), _TENSOR),
    strided_view((16,), _TENSOR, (16,)),
    gather_scatter_view((16,), _TENSOR, 0),
)


class Expectation:
    """What is known of a statement: the types of the operands it has, its attributes, the block it stands in."""

    def __init__(
        self,
        declaration: OperationDeclaration,
        operands: Mapping[str, list[Type]],
        attributes: Mapping[str, Attribute] | None = None,
        block: Block | None = None,
        in_use: list[Type] | None = None,
    ) -> None:
        self.declaration = declaration
        self.operands = operands
        self.attributes = dict(attributes or {})
        self.block = block if block is not None else Block()
        self.in_use = in_use or []

    def of_operand(self, declared: OperandDeclaration, position: int = 0) -> list[Type]:
        """The types that an operand may have, the most likely first; where others say which, only that one."""
        call = self._call()
        # What is asked for says nothing about itself.
        call.operands.pop(declared.name, None)
        try:
            found = number_type(call, declared, position)
        except TileIRError:
            found = None
        if found is not None and declared.constraint.accepts(found):
            return [found]
        return [type for type in self.in_use if declared.constraint.accepts(type)]

    def of_result(self, name: str, most: int = _TRIED) -> list[Type]:
        """The types that a result may have, the most likely first, and no more than so many."""
        declaration = self.declaration
        numbers = [number for number, declared in enumerate(declaration.results) if declared.name == name]
        if not numbers or self._follows_unknown(name):
            return []
        found: dict[Type, None] = {}
        for types in self._all_results():
            number = numbers[0]
            declared = declaration.results[number]
            several = types[number : number + 1] if declared.count == ONE else types[number:]
            for type in several:
                if declared.constraint.accepts(type):
                    found[type] = None
            if len(found) >= most:
                break
        return list(found)

    def is_admitted(self) -> bool:
        """Whether the operands go together, as far as can be told: with some results the rules admit them."""
        if self.declaration.results:
            return next(self._all_results(), None) is not None
        return self._admits([])

    def _follows_unknown(self, name: str) -> bool:
        """Whether a result has the type of operands of which none is known."""
        group = next((group for group in self.declaration.same_types if name in group), ())
        operands = [o.name for o in self.declaration.operands if o.name in group]
        return bool(operands) and not any(self.operands.get(operand) for operand in operands)

    def _all_results(self) -> Iterator[list[Type]]:
        """Types of all results that the rules admit."""
        inference = inference_of(self.declaration)
        for extras in self._guesses():
            call = self._call()
            call.extras.update(extras)
            try:
                types = result_types(call, inference)
            except (TileIRError, TypeError, ValueError):
                continue
            if self._admits(types):
                yield types

    def _guesses(self) -> Iterator[dict[str, object]]:
        """What the builder would be told besides operands and attributes."""
        inference = inference_of(self.declaration)
        required = inference.required
        if not required:
            yield {}
            return
        source = self._source()
        if "shape" in required and isinstance(source, TileType):
            for type in self.in_use[:_TRIED]:
                if isinstance(type, TileType) and type.element is source.element and type is not source:
                    yield {"shape": type}
            yield {"shape": source}
        elif "tile" in required and isinstance(source, TensorViewType):
            shapes = {t.shape: None for t in self.in_use if isinstance(t, TileType) and t.rank == source.rank}
            for shape in (*shapes, (16,) * source.rank):
                yield {"tile": shape, "traversal_strides": shape, "sparse_dim": 0}
        elif "type" in required:
            for type in self.in_use[:_TRIED]:
                if isinstance(source, TileType) and isinstance(type, TileType):
                    yield {"type": with_element(source, type.element)}
                yield {"type": type}
            if isinstance(source, TileType):
                for element in _USUAL_ELEMENTS:
                    yield {"type": with_element(source, element)}
            else:
                for type in USUAL_TYPES:
                    yield {"type": type}
        elif "types" in required:
            for type in self.in_use[:_TRIED]:
                yield {"types": [type]}

    def _source(self) -> Type | None:
        for declared in self.declaration.operands:
            for type in self.operands.get(declared.name, ()):
                return type
        return None

    def _call(self) -> Call:
        call = Call(self.declaration, self.block, _SYMBOLS)
        call.operands = {name: [Value(type) for type in types] for name, types in self.operands.items()}
        call.given = {name: list(values) for name, values in call.operands.items()}
        call.attributes = self.attributes
        return call

    def _admits(self, results: list[Type]) -> bool:
        """Whether the rules of the operation admit these results; yes, where too little is known to tell."""
        declaration = self.declaration
        if declaration.regions or declaration.has_trait(SEGMENTS):
            return True
        values: list[Value] = []
        for operand in declaration.operands:
            types = self.operands.get(operand.name, [])
            if not types or not all(operand.constraint.accepts(type) for type in types):
                return True
            values.extend([Value(type) for type in types])
        declared = zip(declaration.results, results, strict=False)
        if not all(result.constraint.accepts(type) for result, type in declared if result.count == ONE):
            return False
        operation = Operation(declaration, values, results, self.attributes, NO_REGIONS, UNKNOWN)
        missing = [
            a.name
            for a in declaration.attributes
            if not a.optional and a.default is None and a.name not in self.attributes
        ]
        try:
            if not all(rule.check(operation) for rule in declaration.rules):
                return False
            for verify in (declaration.verify_attributes if self.attributes else None, declaration.verify):
                if verify is not None and not missing:
                    verify(operation, VerifyContext())
        except Invalid:
            return False
        return True
