"""Rules about the types of an operation's operands and results, which declarations hold."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Callable, Final
from tileir.ir.types import Type

if TYPE_CHECKING:
    from tileir.ir.core import Operation


class TypeRule:
    """A constraint between the types of an operation's operands and results, with its exact diagnostic.

    `check` sees the operation only through its types, so that one positive answer holds for every other operation
    with the same types.  `alike` are the names that it says share one type, if that is what it says.
    """

    __slots__ = ("alike", "check", "message")

    def __init__(self, check: Callable[[Operation], bool], message: str, alike: tuple[str, ...] = ()) -> None:
        self.check: Callable[[Operation], bool] = check
        self.message: str = message
        self.alike: tuple[str, ...] = alike


def named_types(operation: Operation, name: str) -> list[Type]:
    """The types of the operands or results declared under a name."""
    declaration = operation.declaration
    for index, declared in enumerate(declaration.operands):
        if declared.name == name:
            if declaration.plain_operands:
                return [value.type for value in operation.operands[index : index + 1]]
            return [value.type for value in operation.operand_group(name)]
    for index, declared in enumerate(declaration.results):
        if declared.name == name:
            if declared.is_one:
                return [operation.results[index].type]
            return [value.type for value in operation.results[index:]]
    raise KeyError(name)


def same_type(*names: str) -> TypeRule:
    """All operands and results of these names have one type, in MLIR's words."""
    found = _same_type_rules.get(names)
    if found is None:
        message = f"failed to verify that all of {{{', '.join(names)}}} have same type"
        found = _same_type_rules[names] = TypeRule(lambda operation: _all_equal(operation, names), message, names)
    return found


def _all_equal(operation: Operation, names: tuple[str, ...]) -> bool:
    first = named_types(operation, names[0])
    for index in range(1, len(names)):
        if named_types(operation, names[index]) != first:
            return False
    return True


_same_type_rules: Final[dict[tuple[str, ...], TypeRule]] = {}
