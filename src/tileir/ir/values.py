"""Values: the results of operations and the arguments of blocks, and their users."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final, i32
from tileir.ir.interning import ProgramPart
from tileir.ir.location import UNKNOWN, Location
from tileir.ir.quoting import type_text
from tileir.ir.types import Type

if TYPE_CHECKING:
    from tileir.ir.core import Block, Operation

# Past this many uses a value's users move from a list to a dictionary, so that dropping one stays cheap.
_MANY_USERS: Final = 24


class Value(ProgramPart):
    """Something an operation can take: the result of an operation or the argument of a block.

    A value that is neither stands for one that is not defined yet.  There is no class for it: the compiled build tests
    for a class with two subclasses much faster than for one with three.
    `index` is its position among the results of the operation or the arguments of the block.
    """

    __slots__ = ("_users", "index", "type")

    def __init__(self, type: Type) -> None:
        self.type: Type = type
        # The only user; a list with one entry per use; of many uses, how many each operation has.
        self._users: Operation | list[Operation] | dict[Operation, int] | None = None
        # Four bytes each in the compiled build.
        self.index: i32 = 0

    def add_user(self, user: Operation) -> None:
        """Add one use by `user`; an operation that takes the value twice is added twice."""
        users = self._users
        if users is None:
            self._users = user
        elif isinstance(users, list):
            if len(users) < _MANY_USERS:
                users.append(user)
            else:
                many: dict[Operation, int] = {}
                for known in users:
                    many[known] = many.get(known, 0) + 1
                many[user] = many.get(user, 0) + 1
                self._users = many
        elif isinstance(users, dict):
            users[user] = users.get(user, 0) + 1
        else:
            self._users = [users, user]

    def drop_user(self, user: Operation) -> None:
        """Remove one use by `user`."""
        users = self._users
        if isinstance(users, list):
            users.remove(user)
        elif isinstance(users, dict):
            count = users[user]
            if count == 1:
                del users[user]
            else:
                users[user] = count - 1
        elif users is not None:
            if users is not user:
                raise ValueError("not a user of this value")
            self._users = None

    @property
    def has_uses(self) -> bool:
        return bool(self._users)

    @property
    def use_count(self) -> int:
        users = self._users
        if isinstance(users, list):
            return len(users)
        if isinstance(users, dict):
            return sum(users.values())
        return 1 if users is not None else 0

    @property
    def has_one_user_at_most(self) -> bool:
        """Whether at most one operation takes this value; constant time."""
        users = self._users
        if isinstance(users, list):
            return len(users) <= 1 or (len(users) < 4 and all(user is users[0] for user in users))
        return len(users) <= 1 if isinstance(users, dict) else True

    @property
    def users(self) -> list[Operation]:
        """The operations that take this value, each once, in the order the uses were made."""
        users = self._users
        if users is None:
            return []
        if isinstance(users, (list, dict)):
            return list(dict.fromkeys(users))
        return [users]

    def replace_all_uses_with(self, other: Value) -> None:
        """Make every user use `other` instead."""
        if not isinstance(other, Value):
            raise TypeError(f"a value is replaced by a Value, not by {type_text(other)}")
        if other is self:
            return
        for user in self.users:
            operands = user.operands
            for index in range(len(operands)):
                if operands[index] is self:
                    operands[index] = other
                    other.add_user(user)
        self._users = None

    @property
    def defining_operation(self) -> Operation | None:
        return None

    @property
    def parent_block(self) -> Block | None:
        """The block this value is defined in."""
        return None


class OperationResult(Value):
    """A result of an operation."""

    __slots__ = ("operation",)

    def __init__(self, type: Type, operation: Operation, index: int) -> None:
        self.type = type
        self._users = None
        self.index = index
        self.operation: Operation = operation

    @property
    def defining_operation(self) -> Operation | None:
        return self.operation

    @property
    def parent_block(self) -> Block | None:
        return self.operation.parent


class BlockArgument(Value):
    """An argument of a block."""

    __slots__ = ("block", "location")

    def __init__(self, type: Type, block: Block, index: int, location: Location = UNKNOWN) -> None:
        self.type = type
        self._users = None
        self.index = index
        self.block: Block = block
        self.location: Location = location

    @property
    def parent_block(self) -> Block | None:
        return self.block
