# `make docs` writes the methods below "all others" from the declarations; the rest is written by hand.
# ruff: noqa
# fmt: off
"""Builds programs from Python: a method for each operation, named as in the text (docs/guide/building.md)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, overload

from tileir.dialect.scopes import BodyScope, BranchScope, EntryScope, LoopScope, Scope
from tileir.ir.attributes import Attribute
from tileir.ir.core import Block, InsertionPoint, Module, Operation, Region
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
    location: Location
    scopes: list[Scope]
    point: InsertionPoint

    def __init__(
        self,
        name: str = "kernels",
        *,
        producer: str | None = None,
        locations: bool = False,
        version: str = "13.4",
        block: Block | None = None,
        before: Operation | None = None,
    ) -> None: ...
    @property
    def module(self) -> Operation:
        """The outermost operation around the insertion point, as it is now."""
    def finish(self) -> Module:
        """The module, verified: `VerifyError` carries every error."""
    def operation(self, mnemonic: str, *args: Any, **keywords: Any) -> Operation:
        """Build an operation by name and get the operation instead of its results."""
    def build(
        self, declaration: OperationDeclaration, args: tuple[object, ...], keywords: dict[str, object]
    ) -> Operation:
        """Bind, convert, infer, insert, verify; nothing is inserted unless all of it succeeds."""

    # --- operations whose arguments are not those of their declaration ---

    def constant(self, value: object, type: _Type, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
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
        location: Location | None = None, attributes: _Attributes = None,
    ) -> Operation:
        """A variable of the module around the insertion point; `type` as for `constant`, with one dimension."""
    def entry(
        self,
        name: str,
        *argument_types: _Type,
        arg_attrs: Iterable[object] | Attribute | None = None,
        res_attrs: Iterable[object] | Attribute | None = None,
        optimization_hints: Mapping[str, object] | Attribute | None = None,
        location: Location | None = None, attributes: _Attributes = None,
    ) -> EntryScope:
        """A kernel: `with b.entry("k", ptr(f32), i32) as (data, count): ...`.

        An element or pointer type stands for its scalar tile.
        """
    def if_(self, condition: _Operand, types: Sequence[_Type] = (), *, location: Location | None = None, attributes: _Attributes = None) -> BranchScope:
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
        location: Location | None = None, attributes: _Attributes = None,
    ) -> LoopScope:
        """A counted loop: `with b.for_(0, n, init=[zero]) as loop: ...`; end with `continue_` of the next values."""
    def loop(self, init: _Operands = (), types: Sequence[_Type] = (), *, location: Location | None = None, attributes: _Attributes = None) -> LoopScope:
        """A loop that `break_` ends; the results have the types that the first `break_` passes, or `types`."""
    @overload
    def reduce(
        self, operands: Value | Sequence[Value], dim: int, identities: object, body: None = None, *, location: Location | None = None, attributes: _Attributes = None
    ) -> BodyScope:
        """Combine the elements along a dimension.

        With `body`, a function of an element and what was accumulated (per tile), the results; otherwise a scope:
        `with b.reduce(x, 0, 0.0) as body: b.yield_(b.addf(*body.arguments))`.
        """
    @overload
    def reduce(
        self, operands: Value, dim: int, identities: object, body: Callable[..., Any], *, location: Location | None = None, attributes: _Attributes = None
    ) -> Value: ...
    @overload
    def reduce(
        self, operands: Sequence[Value], dim: int, identities: object, body: Callable[..., Any], *, location: Location | None = None, attributes: _Attributes = None
    ) -> tuple[Value, ...]: ...
    @overload
    def scan(
        self, operands: Value | Sequence[Value], dim: int, identities: object, body: None = None, *,
        reverse: bool = False, location: Location | None = None, attributes: _Attributes = None
    ) -> BodyScope:
        """Running combination along a dimension; as `reduce`."""
    @overload
    def scan(
        self, operands: Value, dim: int, identities: object, body: Callable[..., Any], *,
        reverse: bool = False, location: Location | None = None, attributes: _Attributes = None
    ) -> Value: ...
    @overload
    def scan(
        self, operands: Sequence[Value], dim: int, identities: object, body: Callable[..., Any], *,
        reverse: bool = False, location: Location | None = None, attributes: _Attributes = None
    ) -> tuple[Value, ...]: ...

    # --- all others ---
    def absf(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise absolute value (since 13.1).

        source: the input tile.
        """
    def absi(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise integer absolute value (since 13.1).

        source: the input tile.
        """
    def addf(self, lhs: _Operand, rhs: _Operand, *, rounding_mode: Literal["nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"] | Attribute = "nearest_even", flush_to_zero: bool | Attribute = False, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise addition (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        rounding_mode: how an inexact result is rounded.
        flush_to_zero: treat subnormal inputs and results as zeros of the same sign; f32 only.
        """
    def addi(self, lhs: _Operand, rhs: _Operand, *, overflow: Literal["none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap"] | Attribute = "none", location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise integer addition (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        overflow: which wrapping cannot happen.
        """
    def alloca(self, type: _Type, num_elem: int | Attribute, alignment: int | Attribute, *, global_: bool | Attribute = False, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Memory that lives as long as its block (since 13.3).

        num_elem: how many elements.
        alignment: alignment in bytes.
        global_: other tile threads may use the address.
        """
    def andi(self, lhs: _Operand, rhs: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise bitwise AND (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        """
    def assert_(self, condition: _Operand, message: str | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> None:
        """Report an error if a condition is false (since 13.1).

        condition: what must hold, element by element.
        message: the text to print.
        """
    def assume(self, value: _Operand, predicate: Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Promise a fact about a value (since 13.1).

        value: the value the fact is about.
        predicate: the fact.
        """
    def assume_cond(self, condition: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> None:
        """Promise that a condition holds.

        condition: what is promised.
        """
    def atan2(self, x: _Operand, y: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise angle of a point (since 13.2).

        x: the side opposite to the angle.
        y: the side next to the angle.
        """
    @overload
    def atomic_cas_tko(self, pointers: _Operand, cmp: _Operand, val: _Operand, *, mask: _Operand | None = None, token: _Operand | None = None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value]:
        """Atomic compare and swap through a tile of pointers (since 13.1).

        pointers: the locations.
        cmp: the values expected there.
        val: the values to write.
        mask: which elements take part; all when absent.
        token: what the operation comes after.
        memory_ordering_semantics: relaxed, acquire, release or acq_rel.
        memory_scope: who may access the memory at the same time.
        """
    @overload
    def atomic_cas_tko(self, pointers: _Operand, cmp: _Operand, val: _Operand, mask: _Operand | None, *, token: _Operand | None = None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value]: ...
    @overload
    def atomic_cas_tko(self, pointers: _Operand, cmp: _Operand, val: _Operand, mask: _Operand | None, token: _Operand | None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value]: ...
    @overload
    def atomic_load_tko(self, ptr: _Operand, *, mask: _Operand | None = None, token: _Operand | None = None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value]:
        """Atomic load through a tile of pointers.

        ptr: the locations.
        mask: which elements to read; all when absent.
        token: what the load comes after.
        memory_ordering_semantics: weak, relaxed or acquire.
        memory_scope: who may access the memory at the same time.
        """
    @overload
    def atomic_load_tko(self, ptr: _Operand, mask: _Operand | None, *, token: _Operand | None = None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value]: ...
    @overload
    def atomic_load_tko(self, ptr: _Operand, mask: _Operand | None, token: _Operand | None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value]: ...
    @overload
    def atomic_red_view_tko(self, view: _Operand, *, index: _Operands = (), value: _Operand, token: _Operand | None = None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, mode: Literal["and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg"] | Attribute, inbounds: Sequence[bool] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Atomic reduction into a tile of a view (since 13.3).

        view: the view to reduce into.
        index: which tile, one scalar per dimension.
        value: the values to combine.
        token: what the operation comes after.
        memory_ordering_semantics: relaxed.
        memory_scope: tl_blk or device.
        mode: how the values are combined.
        inbounds: for each index, whether the tile is known to lie within the tensor.
        """
    @overload
    def atomic_red_view_tko(self, view: _Operand, index: _Operands, value: _Operand, *, token: _Operand | None = None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, mode: Literal["and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg"] | Attribute, inbounds: Sequence[bool] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> Value: ...
    @overload
    def atomic_red_view_tko(self, view: _Operand, index: _Operands, value: _Operand, token: _Operand | None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, mode: Literal["and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg"] | Attribute, *, inbounds: Sequence[bool] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> Value: ...
    @overload
    def atomic_rmw_tko(self, pointers: _Operand, arg: _Operand, *, mask: _Operand | None = None, token: _Operand | None = None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, mode: Literal["and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg"] | Attribute, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value]:
        """Atomic read-modify-write through a tile of pointers (since 13.1).

        pointers: the locations.
        arg: the values to combine.
        mask: which elements take part; all when absent.
        token: what the operation comes after.
        memory_ordering_semantics: relaxed, acquire, release or acq_rel.
        memory_scope: who may access the memory at the same time.
        mode: how the values are combined.
        """
    @overload
    def atomic_rmw_tko(self, pointers: _Operand, arg: _Operand, mask: _Operand | None, *, token: _Operand | None = None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, mode: Literal["and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg"] | Attribute, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value]: ...
    @overload
    def atomic_rmw_tko(self, pointers: _Operand, arg: _Operand, mask: _Operand | None, token: _Operand | None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, mode: Literal["and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg"] | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value]: ...
    @overload
    def atomic_store_tko(self, ptr: _Operand, value: _Operand, *, mask: _Operand | None = None, token: _Operand | None = None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Atomic store through a tile of pointers.

        ptr: the locations.
        value: the elements to write.
        mask: which elements to write; all when absent.
        token: what the store comes after.
        memory_ordering_semantics: weak, relaxed or release.
        memory_scope: who may access the memory at the same time.
        """
    @overload
    def atomic_store_tko(self, ptr: _Operand, value: _Operand, mask: _Operand | None, *, token: _Operand | None = None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, location: Location | None = None, attributes: _Attributes = None) -> Value: ...
    @overload
    def atomic_store_tko(self, ptr: _Operand, value: _Operand, mask: _Operand | None, token: _Operand | None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value: ...
    @overload
    def barrier(self, *, token: _Operand | None = None, scope: Literal["warp", "block", "cluster"] | Attribute, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Wait for the threads of a scope.

        token: what happens before.
        scope: who waits: warp, block or cluster.
        """
    @overload
    def barrier(self, token: _Operand | None, scope: Literal["warp", "block", "cluster"] | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value: ...
    def bitcast(self, source: _Operand, type: _Type, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Reinterpret the bits of each element (since 13.1).

        source: the tile to convert.
        """
    def break_(self, *operands: _Operands, location: Location | None = None, attributes: _Attributes = None) -> None:
        """Leave a loop (since 13.1).

        operands: the results of the loop.
        """
    def brev(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise bit reversal.

        source: the input tile.
        """
    def broadcast(self, source: _Operand, shape: _Extents, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Expand dimensions of extent one (since 13.1).

        source: the tile to expand.
        """
    def cat(self, lhs: _Operand, rhs: _Operand, dim: int | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Join two tiles along a dimension (since 13.1).

        lhs: the first part.
        rhs: the second part.
        dim: the dimension along which they are joined.
        """
    def ceil(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise rounding up to an integer (since 13.1).

        source: the input tile.
        """
    def clz(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise count of leading zeros.

        source: the input tile.
        """
    def cmpf(self, lhs: _Operand, rhs: _Operand, comparison_predicate: Literal["equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"] | Attribute, comparison_ordering: Literal["unordered", "ordered"] | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise comparison (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        comparison_predicate: the relation to test.
        comparison_ordering: the answer where an element is NaN.
        """
    def cmpi(self, lhs: _Operand, rhs: _Operand, comparison_predicate: Literal["equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"] | Attribute, signedness: Literal["unsigned", "signed"] | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise integer comparison (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        comparison_predicate: the relation to test.
        signedness: whether the elements are signed or unsigned.
        """
    def continue_(self, *operands: _Operands, location: Location | None = None, attributes: _Attributes = None) -> None:
        """Go to the next iteration (since 13.1).

        operands: the values carried to the next iteration.
        """
    def cos(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise cosine (since 13.1).

        source: the input tile.
        """
    def cosh(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise hyperbolic cosine (since 13.1).

        source: the input tile.
        """
    def ctz(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise count of trailing zeros.

        source: the input tile.
        """
    def divf(self, lhs: _Operand, rhs: _Operand, *, rounding_mode: Literal["nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"] | Attribute = "nearest_even", flush_to_zero: bool | Attribute = False, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise division (since 13.1).

        lhs: the dividend.
        rhs: the divisor.
        rounding_mode: how an inexact result is rounded.
        flush_to_zero: treat subnormal inputs and results as zeros of the same sign; f32 only.
        """
    def divi(self, lhs: _Operand, rhs: _Operand, signedness: Literal["unsigned", "signed"] | Attribute, *, rounding: Literal["nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"] | Attribute = "zero", location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise integer division (since 13.1).

        lhs: the dividend.
        rhs: the divisor.
        signedness: whether the elements are signed or unsigned.
        rounding: where an inexact quotient goes.
        """
    def exp(self, source: _Operand, *, rounding_mode: Literal["nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"] | Attribute = "full", location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise exponential (since 13.1).

        source: the input tile.
        rounding_mode: full or approximate precision.
        """
    def exp2(self, source: _Operand, *, flush_to_zero: bool | Attribute = False, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise power of two (since 13.1).

        source: the input tile.
        flush_to_zero: treat subnormal inputs and results as zeros of the same sign; f32 only.
        """
    def exti(self, from_: _Operand, type: _Type, signedness: Literal["unsigned", "signed"] | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Extend integers to a greater width (since 13.1).

        from_: the tile to convert.
        signedness: whether the integers are signed or unsigned.
        """
    @overload
    def extract(self, source: _Operand, *, indices: _Operands = (), shape: _Extents, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Take a sub-tile out of a tile (since 13.1).

        source: the tile to divide.
        indices: the number of the sub-tile along each dimension.
        """
    @overload
    def extract(self, source: _Operand, indices: _Operands, shape: _Extents, *, location: Location | None = None, attributes: _Attributes = None) -> Value: ...
    def floor(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise rounding down to an integer (since 13.1).

        source: the input tile.
        """
    def fma(self, lhs: _Operand, rhs: _Operand, acc: _Operand, *, rounding_mode: Literal["nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"] | Attribute = "nearest_even", flush_to_zero: bool | Attribute = False, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise fused multiply and add (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        acc: what is added to the product.
        rounding_mode: how an inexact result is rounded.
        flush_to_zero: treat subnormal inputs and results as zeros of the same sign; f32 only.
        """
    def fpowi(self, source: _Operand, exponent: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise power with an integer exponent (since 13.4).

        source: the base.
        exponent: the exponent, a tile of the same shape.
        """
    def ftof(self, from_: _Operand, type: _Type, *, rounding_mode: Literal["nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"] | Attribute = "nearest_even", location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Convert between float types (since 13.1).

        from_: the tile to convert.
        rounding_mode: how an inexact value is rounded.
        """
    def ftoi(self, from_: _Operand, type: _Type, signedness: Literal["unsigned", "signed"] | Attribute, *, rounding_mode: Literal["nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"] | Attribute = "nearest_int_to_zero", saturating: bool | Attribute = False, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Convert floats to integers (since 13.1).

        from_: the tile to convert.
        signedness: whether the integers are signed or unsigned.
        rounding_mode: how a fraction is dropped; there is only one way.
        saturating: clamp values outside the range, NaN to 0.
        """
    def gdc_launch_dependents_tko(self, token: _Operand | None = None, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Let the grids that depend on this one start (since 13.4).

        token: what the signal comes after.
        """
    def gdc_wait_tko(self, token: _Operand | None = None, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Wait for the grids this one depends on (since 13.4).

        token: what the wait comes after.
        """
    def get_global(self, name: str | Operation | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """The address of a global variable (since 13.1).

        name: the variable.
        """
    def get_index_space_shape(self, src: _Operand, *, type: _Type | None = None, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, ...]:
        """How many tiles a view has along each dimension (since 13.1).

        src: the view.
        """
    def get_num_tile_blocks(self, *, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value, Value]:
        """The extents of the grid (since 13.1)."""
    def get_tensor_shape(self, src: _Operand, *, type: _Type | None = None, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, ...]:
        """The shape of a tensor view (since 13.1).

        src: the tensor view.
        """
    def get_tile_block_id(self, *, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value, Value]:
        """The coordinates of this tile block (since 13.1)."""
    def insert(self, source: _Operand, destination: _Operand, indices: _Operands = (), *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Replace a sub-tile of a tile (since 13.4).

        source: the new sub-tile.
        destination: the tile around it.
        indices: the number of the sub-tile along each dimension.
        """
    def int_to_ptr(self, source: _Operand, type: _Type, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Convert integers to pointers (since 13.1).

        source: the tile to convert.
        """
    def iota(self, type: _Type, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """The numbers 0 to n-1 (since 13.1)."""
    def itof(self, from_: _Operand, type: _Type, signedness: Literal["unsigned", "signed"] | Attribute, *, rounding_mode: Literal["nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"] | Attribute = "nearest_even", location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Convert integers to floats (since 13.1).

        from_: the tile to convert.
        signedness: whether the integers are signed or unsigned.
        rounding_mode: how an inexact value is rounded.
        """
    def join_tokens(self, *tokens: _Operands, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """One token that depends on several (since 13.1).

        tokens: the tokens to wait for, two or more.
        """
    def load_ptr_tko(self, source: _Operand, mask: _Operand | None = None, paddingValue: _Operand | None = None, token: _Operand | None = None, *, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute = "weak", memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute | None = None, optimization_hints: Mapping[str, object] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value]:
        """Gather a tile from memory through a tile of pointers (since 13.1).

        source: where to read each element.
        mask: which elements to read; all when absent.
        paddingValue: what masked elements become.
        token: what the load comes after.
        memory_ordering_semantics: weak, relaxed or acquire.
        memory_scope: who may access the memory at the same time.
        optimization_hints: hints per architecture: latency.
        """
    def load_view_tko(self, view: _Operand, index: _Operands = (), token: _Operand | None = None, *, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute = "weak", memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute | None = None, optimization_hints: Mapping[str, object] | Attribute | None = None, inbounds: Sequence[bool] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value]:
        """Load a tile of a view (since 13.1).

        view: the view to read.
        index: which tile, one index per dimension.
        token: what the load comes after.
        memory_ordering_semantics: weak, relaxed or acquire.
        memory_scope: who may access the memory at the same time.
        optimization_hints: hints per architecture: allow_tma, latency.
        inbounds: for each index, whether the tile is known to lie within the tensor.
        """
    def log(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise natural logarithm (since 13.1).

        source: the input tile.
        """
    def log10(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise base-10 logarithm.

        source: the input tile.
        """
    def log1p(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise logarithm of one more.

        source: the input tile.
        """
    def log2(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise base-2 logarithm (since 13.1).

        source: the input tile.
        """
    def make_gather_scatter_view(self, tensor_view: _Operand, tile: _Extents, sparse_dim: int, *, padding: Literal["zero", "neg_zero", "nan", "pos_inf", "neg_inf"] | None = None, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """See a tensor as tiles of rows picked by position (since 13.3).

        tensor_view: the tensor.
        """
    def make_partition_view(self, tensor_view: _Operand, tile: _Extents, *, padding: Literal["zero", "neg_zero", "nan", "pos_inf", "neg_inf"] | None = None, dim_map: Sequence[int] | None = None, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """See a tensor as a grid of tiles (since 13.1).

        tensor_view: the tensor.
        """
    def make_strided_view(self, tensor_view: _Operand, tile: _Extents, traversal_strides: _Extents, *, padding: Literal["zero", "neg_zero", "nan", "pos_inf", "neg_inf"] | None = None, dim_map: Sequence[int] | None = None, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """See a tensor as tiles a fixed distance apart (since 13.3).

        tensor_view: the tensor.
        """
    def make_tensor_view(self, base: _Operand, shape: _Operands, strides: _Operands, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """See memory as a tensor (since 13.1).

        base: a pointer to the first element.
        """
    def make_token(self, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """A token that depends on nothing (since 13.1)."""
    def maxf(self, lhs: _Operand, rhs: _Operand, *, propagate_nan: bool | Attribute = False, flush_to_zero: bool | Attribute = False, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise maximum (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        propagate_nan: let a NaN in either operand win.
        flush_to_zero: treat subnormal inputs and results as zeros of the same sign; f32 only.
        """
    def maxi(self, lhs: _Operand, rhs: _Operand, signedness: Literal["unsigned", "signed"] | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise integer maximum (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        signedness: whether the elements are signed or unsigned.
        """
    def maximumf(self, lhs: _Operand, rhs: _Operand, *, comparison_ordering: Literal["unordered", "ordered"] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise maximum that keeps NaN.

        lhs: the left operand.
        rhs: the right operand.
        comparison_ordering: carried along, without effect.
        """
    def memory_fence_alias_tko(self, token: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Order accesses that reach the same memory by different ways (since 13.4).

        token: what the fence comes after.
        """
    def minf(self, lhs: _Operand, rhs: _Operand, *, propagate_nan: bool | Attribute = False, flush_to_zero: bool | Attribute = False, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise minimum (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        propagate_nan: let a NaN in either operand win.
        flush_to_zero: treat subnormal inputs and results as zeros of the same sign; f32 only.
        """
    def mini(self, lhs: _Operand, rhs: _Operand, signedness: Literal["unsigned", "signed"] | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise integer minimum (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        signedness: whether the elements are signed or unsigned.
        """
    def minimumf(self, lhs: _Operand, rhs: _Operand, *, comparison_ordering: Literal["unordered", "ordered"] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise minimum that keeps NaN.

        lhs: the left operand.
        rhs: the right operand.
        comparison_ordering: carried along, without effect.
        """
    def mmaf(self, lhs: _Operand, rhs: _Operand, acc: _Operand, *, fast_acc: bool | Attribute = False, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Multiply matrices of floats and accumulate (since 13.1).

        lhs: the left matrix.
        rhs: the right matrix.
        acc: the matrix added to the product.
        fast_acc: accumulate faster and less exactly.
        """
    def mmaf_scaled(self, lhs: _Operand, rhs: _Operand, acc: _Operand, lhs_scale: _Operand, rhs_scale: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Multiply matrices of block-scaled floats and accumulate (since 13.3).

        lhs: the left matrix.
        rhs: the right matrix.
        acc: the matrix added to the product.
        lhs_scale: one scale per row and block of the left matrix.
        rhs_scale: one scale per block and column of the right matrix.
        """
    def mmai(self, lhs: _Operand, rhs: _Operand, acc: _Operand, signedness_lhs: Literal["unsigned", "signed"] | Attribute, signedness_rhs: Literal["unsigned", "signed"] | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Multiply matrices of integers and accumulate (since 13.1).

        lhs: the left matrix.
        rhs: the right matrix.
        acc: the matrix added to the product.
        signedness_lhs: how the left matrix is read.
        signedness_rhs: how the right matrix is read.
        """
    def mulf(self, lhs: _Operand, rhs: _Operand, *, rounding_mode: Literal["nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"] | Attribute = "nearest_even", flush_to_zero: bool | Attribute = False, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise multiplication (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        rounding_mode: how an inexact result is rounded.
        flush_to_zero: treat subnormal inputs and results as zeros of the same sign; f32 only.
        """
    def mulhii(self, x: _Operand, y: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """High half of the element-wise integer product (since 13.1).

        x: the left operand.
        y: the right operand.
        """
    mulhi = mulhii
    def muli(self, lhs: _Operand, rhs: _Operand, *, overflow: Literal["none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap"] | Attribute = "none", location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise integer multiplication (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        overflow: which wrapping cannot happen.
        """
    @overload
    def multimem_load_reduce_view_tko(self, view: _Operand, *, index: _Operands = (), token: _Operand | None = None, reduction: Literal["add", "min", "max", "and", "or", "xor", "umin", "umax"] | Attribute, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute = "weak", memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute | None = None, inbounds: Sequence[bool] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value]:
        """Combine the tiles that several devices hold (since 13.5).

        view: the view of the multicast memory.
        index: which tile, one scalar per dimension.
        token: what the load comes after.
        memory_ordering_semantics: weak, relaxed or acquire.
        memory_scope: who may access the memory at the same time.
        reduction: how the values of the devices are combined.
        inbounds: for each index, whether the tile is known to lie within the tensor.
        """
    @overload
    def multimem_load_reduce_view_tko(self, view: _Operand, index: _Operands, *, token: _Operand | None = None, reduction: Literal["add", "min", "max", "and", "or", "xor", "umin", "umax"] | Attribute, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute = "weak", memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute | None = None, inbounds: Sequence[bool] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value]: ...
    @overload
    def multimem_load_reduce_view_tko(self, view: _Operand, index: _Operands, token: _Operand | None, reduction: Literal["add", "min", "max", "and", "or", "xor", "umin", "umax"] | Attribute, *, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute = "weak", memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute | None = None, inbounds: Sequence[bool] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, Value]: ...
    @overload
    def multimem_reduce_view_tko(self, view: _Operand, tile: _Operand, *, index: _Operands = (), token: _Operand | None = None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, reduction: Literal["add", "min", "max", "and", "or", "xor", "umin", "umax"] | Attribute, inbounds: Sequence[bool] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Combine a tile with the tiles of several devices (since 13.5).

        view: the view of the multicast memory.
        tile: the values to combine.
        index: which tile, one scalar per dimension.
        token: what the reduction comes after.
        memory_ordering_semantics: relaxed or release.
        memory_scope: who may access the memory at the same time.
        reduction: how the values of the devices are combined.
        inbounds: for each index, whether the tile is known to lie within the tensor.
        """
    @overload
    def multimem_reduce_view_tko(self, view: _Operand, tile: _Operand, index: _Operands, *, token: _Operand | None = None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, reduction: Literal["add", "min", "max", "and", "or", "xor", "umin", "umax"] | Attribute, inbounds: Sequence[bool] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> Value: ...
    @overload
    def multimem_reduce_view_tko(self, view: _Operand, tile: _Operand, index: _Operands, token: _Operand | None, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute, memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute, reduction: Literal["add", "min", "max", "and", "or", "xor", "umin", "umax"] | Attribute, *, inbounds: Sequence[bool] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> Value: ...
    def multimem_store_view_tko(self, view: _Operand, tile: _Operand, index: _Operands = (), token: _Operand | None = None, *, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute = "weak", memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute | None = None, inbounds: Sequence[bool] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Store a tile on several devices (since 13.5).

        view: the view of the multicast memory.
        tile: the tile to write.
        index: which tile, one scalar per dimension.
        token: what the store comes after.
        memory_ordering_semantics: weak, relaxed or release.
        memory_scope: who may access the memory at the same time.
        inbounds: for each index, whether the tile is known to lie within the tensor.
        """
    def negf(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise negation (since 13.1).

        source: the input tile.
        """
    def negi(self, source: _Operand, *, overflow: Literal["none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap"] | Attribute = "none", location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise integer negation (since 13.1).

        source: the input tile.
        overflow: which wrapping cannot happen.
        """
    negsi = negi
    def noti(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise bitwise complement.

        source: the input tile.
        """
    def offset(self, ptr: _Operand, offset: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Advance pointers by a number of elements (since 13.1).

        ptr: the pointers.
        offset: how many elements to advance.
        """
    def ori(self, lhs: _Operand, rhs: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise bitwise OR (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        """
    def pack(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Reinterpret a tile as bytes (since 13.3).

        source: the tile to take apart.
        """
    def permute(self, source: _Operand, permutation: Sequence[int] | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Reorder the dimensions (since 13.1).

        source: the tile to reorder.
        permutation: the source dimension for each result dimension.
        """
    def popcnt(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise count of set bits.

        source: the input tile.
        """
    def pow(self, source: _Operand, exponent: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise power (since 13.1).

        source: the base.
        exponent: the exponent.
        """
    fpowf = pow
    powf = pow
    @overload
    def preview_call(self, *, operands: _Operands = (), types: Sequence[_Type], callee: str | Operation | Attribute, const_args: Iterable[object] | Attribute, arg_attrs: Iterable[object] | Attribute | None = None, res_attrs: Iterable[object] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, ...]:
        """Call a function outside of the file (since 13.5).

        operands: the arguments.
        callee: the name of the function.
        const_args: the arguments that are constants.
        arg_attrs: attributes of the arguments.
        res_attrs: attributes of the results.
        """
    @overload
    def preview_call(self, operands: _Operands, types: Sequence[_Type], callee: str | Operation | Attribute, const_args: Iterable[object] | Attribute, *, arg_attrs: Iterable[object] | Attribute | None = None, res_attrs: Iterable[object] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, ...]: ...
    @overload
    def print_tko(self, *, args: _Operands = (), token: _Operand | None = None, str: str | Attribute, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Print a formatted text, ordered by tokens (since 13.1).

        args: the tiles to print.
        token: what happens before.
        str: the text with its conversions.
        """
    @overload
    def print_tko(self, args: _Operands, *, token: _Operand | None = None, str: str | Attribute, location: Location | None = None, attributes: _Attributes = None) -> Value: ...
    @overload
    def print_tko(self, args: _Operands, token: _Operand | None, str: str | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value: ...
    print = print_tko
    def ptr_to_int(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Convert pointers to integers (since 13.1).

        source: the tile to convert.
        """
    def ptr_to_ptr(self, source: _Operand, type: _Type, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Change the pointee type of pointers (since 13.1).

        source: the tile to convert.
        """
    def recipf(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise reciprocal.

        source: the input tile.
        """
    def remf(self, lhs: _Operand, rhs: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise remainder (since 13.1).

        lhs: the dividend.
        rhs: the divisor.
        """
    def remi(self, lhs: _Operand, rhs: _Operand, signedness: Literal["unsigned", "signed"] | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise integer remainder (since 13.1).

        lhs: the dividend.
        rhs: the divisor.
        signedness: whether the elements are signed or unsigned.
        """
    def reshape(self, source: _Operand, shape: _Extents, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Change the shape, keep the elements (since 13.1).

        source: the tile to reshape.
        """
    def return_(self, *operands: _Operands, location: Location | None = None, attributes: _Attributes = None) -> None:
        """End the kernel (since 13.1).

        operands: the values to return.
        """
    def rsqrt(self, source: _Operand, *, flush_to_zero: bool | Attribute = False, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise reciprocal square root (since 13.1).

        source: the input tile.
        flush_to_zero: treat subnormal inputs and results as zeros of the same sign; f32 only.
        """
    def select(self, cond: _Operand, val_if_true: _Operand, val_if_false: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Choose between two tiles, element by element (since 13.1).

        cond: the condition.
        val_if_true: the elements where it holds.
        val_if_false: the elements where it does not.
        """
    def shli(self, lhs: _Operand, rhs: _Operand, *, overflow: Literal["none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap"] | Attribute = "none", location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise left shift (since 13.1).

        lhs: the value.
        rhs: the number of bits to shift by.
        overflow: which wrapping cannot happen.
        """
    def shri(self, lhs: _Operand, rhs: _Operand, signedness: Literal["unsigned", "signed"] | Attribute, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise right shift (since 13.1).

        lhs: the value.
        rhs: the number of bits to shift by.
        signedness: whether the elements are signed or unsigned.
        """
    def sigmoid(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise logistic function.

        source: the input tile.
        """
    def sin(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise sine (since 13.1).

        source: the input tile.
        """
    def sinh(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise hyperbolic sine (since 13.1).

        source: the input tile.
        """
    def sqrt(self, source: _Operand, *, rounding_mode: Literal["nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"] | Attribute = "nearest_even", flush_to_zero: bool | Attribute = False, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise square root (since 13.1).

        source: the input tile.
        rounding_mode: how an inexact result is rounded.
        flush_to_zero: treat subnormal inputs and results as zeros of the same sign; f32 only.
        """
    def store_ptr_tko(self, destination: _Operand, value: _Operand, mask: _Operand | None = None, token: _Operand | None = None, *, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute = "weak", memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute | None = None, optimization_hints: Mapping[str, object] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Scatter a tile to memory through a tile of pointers (since 13.1).

        destination: where to write each element.
        value: the elements to write.
        mask: which elements to write; all when absent.
        token: what the store comes after.
        memory_ordering_semantics: weak, relaxed or release.
        memory_scope: who may access the memory at the same time.
        optimization_hints: hints per architecture: latency.
        """
    def store_view_tko(self, tile: _Operand, view: _Operand, index: _Operands = (), token: _Operand | None = None, *, memory_ordering_semantics: Literal["weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst"] | Attribute = "weak", memory_scope: Literal["tl_blk", "device", "sys", "cluster"] | Attribute | None = None, optimization_hints: Mapping[str, object] | Attribute | None = None, inbounds: Sequence[bool] | Attribute | None = None, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Store a tile of a view (since 13.1).

        tile: the tile to write.
        view: the view to write to.
        index: which tile, one index per dimension.
        token: what the store comes after.
        memory_ordering_semantics: weak, relaxed or release.
        memory_scope: who may access the memory at the same time.
        optimization_hints: hints per architecture: allow_tma, latency.
        inbounds: for each index, whether the tile is known to lie within the tensor.
        """
    def subf(self, lhs: _Operand, rhs: _Operand, *, rounding_mode: Literal["nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"] | Attribute = "nearest_even", flush_to_zero: bool | Attribute = False, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise subtraction (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        rounding_mode: how an inexact result is rounded.
        flush_to_zero: treat subnormal inputs and results as zeros of the same sign; f32 only.
        """
    def subi(self, lhs: _Operand, rhs: _Operand, *, overflow: Literal["none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap"] | Attribute = "none", location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise integer subtraction (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        overflow: which wrapping cannot happen.
        """
    def tan(self, source: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise tangent (since 13.1).

        source: the input tile.
        """
    def tanh(self, source: _Operand, *, rounding_mode: Literal["nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"] | Attribute = "full", location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise hyperbolic tangent (since 13.1).

        source: the input tile.
        rounding_mode: full or approximate precision.
        """
    tanhf = tanh
    def trunci(self, from_: _Operand, type: _Type, *, overflow: Literal["none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap"] | Attribute = "none", location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Truncate integers to a smaller width (since 13.1).

        from_: the tile to convert.
        overflow: which loss cannot happen.
        """
    def unpack(self, source: _Operand, type: _Type, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Reinterpret bytes as a tile (since 13.3).

        source: the bytes.
        """
    @overload
    def unrealized_conversion_cast(self, *, inputs: _Operands = (), types: Sequence[_Type], location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, ...]:
        """A placeholder for a conversion.

        inputs: the values as they are.
        """
    @overload
    def unrealized_conversion_cast(self, inputs: _Operands, types: Sequence[_Type], *, location: Location | None = None, attributes: _Attributes = None) -> tuple[Value, ...]: ...
    def xori(self, lhs: _Operand, rhs: _Operand, *, location: Location | None = None, attributes: _Attributes = None) -> Value:
        """Element-wise bitwise exclusive OR (since 13.1).

        lhs: the left operand.
        rhs: the right operand.
        """
    def yield_(self, *operands: _Operands, location: Location | None = None, attributes: _Attributes = None) -> None:
        """Pass values to the operation around (since 13.1).

        operands: the values to pass.
        """
