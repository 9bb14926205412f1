"""Operations that move elements and compute nothing."""

from __future__ import annotations

from tileir.ir.core import Operation
from tileir.ir.types import I32
from tileir.ir.values import Value
from tileir.ttir.rules.arithmetic import filled, splat
from tileir.ttir.translation import Translation, rule


@rule("tt.get_program_id")
def program_id(t: Translation, op: Operation) -> Value:
    found: Value = t.build.get_tile_block_id()[t.attribute(op, "axis")]
    return found


@rule("tt.get_num_programs")
def program_count(t: Translation, op: Operation) -> Value:
    found: Value = t.build.get_num_tile_blocks()[t.attribute(op, "axis")]
    return found


@rule("tt.make_range")
def make_range(t: Translation, op: Operation) -> Value:
    type, start = t.result_type(op), t.attribute(op, "start")
    found = t.build.iota(type)
    return t.build.addi(found, filled(t, start, type)) if start else found


@rule("tt.splat")
def splat_tile(t: Translation, op: Operation) -> Value:
    return splat(t, t.operands(op)[0], t.result_type(op).shape)


@rule("tt.broadcast")
def broadcast(t: Translation, op: Operation) -> Value:
    return t.build.broadcast(t.operands(op)[0], t.result_type(op).shape)


@rule("tt.expand_dims", "tt.reshape", "tt.unsplat")
def reshape(t: Translation, op: Operation) -> Value:
    """Elements keep their row-major order, also where Triton would allow another."""
    return t.build.reshape(t.operands(op)[0], t.result_type(op).shape)


@rule("tt.trans")
def transpose(t: Translation, op: Operation) -> Value:
    return t.build.permute(t.operands(op)[0], t.attribute(op, "order"))


@rule("tt.join")
def join(t: Translation, op: Operation) -> Value:
    """Two tiles along a new last dimension."""
    type = t.result_type(op)
    first, second = [t.build.reshape(each, (*type.shape[:-1], 1)) for each in t.operands(op)]
    return t.build.cat(first, second, len(type.shape) - 1)


@rule("tt.split")
def split(t: Translation, op: Operation) -> list[Value]:
    """The two tiles along the last dimension."""
    (value,), type = t.operands(op), t.result_type(op)
    last = len(type.shape)
    indices = [t.build.constant(each, I32) for each in (0, 1)]
    parts = [t.build.extract(value, [indices[0]] * last + [each], (*type.shape, 1)) for each in indices]
    return [t.build.reshape(each, type.shape) for each in parts]


@rule("tt.cat")
def concatenate(t: Translation, op: Operation) -> Value:
    """The elements keep their order, also where Triton would allow another."""
    first, second = t.operands(op)
    return t.build.cat(first, second, 0)
