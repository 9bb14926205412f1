"""Loops and addresses in LLVM IR, for the microkernels."""

from __future__ import annotations

from collections.abc import Callable

from tileir.execute.cpu.vector.llvm import Builder, Register


def multiply(builder: Builder, left: str, right: str | int) -> str:
    """The product of two i64, each a literal or a name."""
    right = str(right)
    if "0" in (left, right):
        return "0"
    if left == "1":
        return right
    if right == "1":
        return left
    if not left.startswith("%") and not right.startswith("%"):
        return str(int(left) * int(right))
    return builder.emit(f"mul i64 {left}, {right}")


def moved(builder: Builder, pointer: str, offset: str | int) -> str:
    """A pointer moved by bytes."""
    if str(offset) == "0":
        return pointer
    return builder.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")


def loop(builder: Builder, hint: str, extent: str | int, advance: int, body: Callable[[str], None]) -> None:
    """Run `body` for 0, advance, 2 * advance and on below extent, which is at least advance."""

    def keep(index: str, carried: list[Register]) -> list[Register]:
        body(index)
        return carried

    carry(builder, hint, extent, advance, [], keep)


def carry(
    builder: Builder,
    hint: str,
    extent: str | int,
    advance: int,
    start: list[Register],
    body: Callable[[str, list[Register]], list[Register]],
) -> list[Register]:
    """A loop as above with values that go from turn to turn; gives what the last turn gave."""
    if str(extent) == str(advance):
        return body("0", start)
    before = builder.fresh(f"mma.{hint}.enter.")
    head = builder.fresh(f"mma.{hint}.")
    latch = builder.fresh(f"mma.{hint}.next.")
    after = builder.fresh(f"mma.{hint}.done.")
    index = f"%{builder.fresh('i')}"
    following = f"%{builder.fresh('i')}"
    builder.do(f"br label %{before}")
    builder.label(before)
    builder.do(f"br label %{head}")
    builder.label(head)
    builder.do(f"{index} = phi i64 [ 0, %{before} ], [ {following}, %{latch} ]")
    first = len(builder.lines)
    inside = [Register(f"%{builder.fresh('c')}", one.dtype, one.width) for one in start]
    results = body(index, inside)
    builder.do(f"br label %{latch}")
    builder.label(latch)
    # The phis come first but name the results, which are known only now.
    builder.lines[first:first] = [
        f"  {phi.name} = phi {phi.type} [ {enter.name}, %{before} ], [ {again.name}, %{latch} ]"
        for phi, enter, again in zip(inside, start, results, strict=True)
    ]
    builder.do(f"{following} = add nuw nsw i64 {index}, {advance}")
    more = builder.emit(f"icmp ult i64 {following}, {extent}")
    builder.do(f"br i1 {more}, label %{head}, label %{after}")
    builder.label(after)
    return results
