"""Values: the results of operations and the arguments of blocks, and who uses them.

A program has many values, and most of them have one user or two: these need no list, few no dictionary.
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final, i32
from tileir.ir.location import UNKNOWN, Location
from tileir.ir.quoting import type_words
from tileir.ir.reducing import REDUCING, Reduced, part_of_a_program
from tileir.ir.types import Type

if TYPE_CHECKING:
    from tileir.ir.core import Block, Operation

# Past this many uses a value's users move from a list to a dictionary, so that dropping one stays cheap.
_MANY_USERS: Final = 24
_MANY_OPERANDS: Final = 16


class Scope:
    """A block that is being verified: what it defines is visible while it is open, within the same area.

    An area is what an isolated operation has inside, in one verification.
    """

    __slots__ = ("area", "is_open")

    def __init__(self, area: object) -> None:
        self.area: object = area
        self.is_open: bool = True


class Value:
    """Something an operation can take: the result of an operation or the argument of a block.

    `index` tells which result of the operation or which argument of the block it is.  `scope` is where a verification
    has come upon its definition last, and `place` where a printer has kept its name last: who looks there has to see
    whether it is this value's.
    """

    __slots__ = ("_users", "index", "place", "scope", "type")

    def __init__(self, type: Type) -> None:
        self.type: Type = type
        self.scope: Scope | None = None
        # The only use; one entry per use in a pair or a list; once there are many, the number of uses per operation.
        self._users: Operation | tuple[Operation, Operation] | list[Operation] | dict[Operation, int] | None = None
        # Small ones: a value is no larger for both of them.
        self.index: i32 = 0
        self.place: i32 = 0

    def add_user(self, user: Operation) -> None:
        """Note one use by `user`; an operation that takes the value twice is noted twice."""
        users = self._users
        if users is None:
            self._users = user
        elif isinstance(users, tuple):
            self._users = [users[0], users[1], user]
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
            self._users = (users, user)

    def drop_user(self, user: Operation) -> None:
        """Take one use by `user` back."""
        users = self._users
        if isinstance(users, tuple):
            one, other = users
            if user is not one and user is not other:
                raise ValueError("not a user of this value")
            self._users = other if user is one else one
        elif isinstance(users, list):
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
        if isinstance(users, (tuple, list)):
            return len(users)
        if isinstance(users, dict):
            return sum(users.values())
        return 1 if users is not None else 0

    @property
    def has_one_user_at_most(self) -> bool:
        """Whether no two operations take this value; costs the same however many there are."""
        users = self._users
        if isinstance(users, tuple):
            return users[0] is users[1]
        if isinstance(users, list):
            return len(users) <= 1 or (len(users) < 4 and all(user is users[0] for user in users))
        return len(users) <= 1 if isinstance(users, dict) else True

    @property
    def users(self) -> list[Operation]:
        """The operations that take this value, each once, in the order the uses were made."""
        users = self._users
        if users is None:
            return []
        if isinstance(users, (tuple, list, dict)):
            return list(dict.fromkeys(users))
        return [users]

    def replace_all_uses_with(self, other: Value) -> None:
        """Let every user take `other` instead."""
        if not isinstance(other, Value):
            raise TypeError(f"a value is replaced by a Value, not by {type_words(other)}")
        if other is self:
            return
        for user in self.users:
            operands = user.operands
            if len(operands) > _MANY_OPERANDS:
                # The built-in search is faster; values are equal when they are identical.
                place = 0
                for _ in range(operands.count(self)):
                    place = operands.index(self, place)
                    operands[place] = other
                    other.add_user(user)
                continue
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

    def __copy__(self) -> Value:
        raise part_of_a_program(self)

    def __deepcopy__(self, memo: object) -> Value:
        raise part_of_a_program(self)

    def __reduce__(self) -> Reduced:
        return REDUCING.reduce(self)


class OperationResult(Value):
    __slots__ = ("operation",)

    def __init__(self, type: Type, operation: Operation, index: int) -> None:
        self.type = type
        self.scope = None
        self._users = None
        self.index = index
        self.place = 0
        self.operation: Operation = operation

    @property
    def defining_operation(self) -> Operation | None:
        return self.operation

    @property
    def parent_block(self) -> Block | None:
        return self.operation.parent

    def __repr__(self) -> str:
        return REDUCING.describe(self)


class BlockArgument(Value):
    __slots__ = ("block", "location")

    def __init__(self, type: Type, block: Block, index: int, location: Location = UNKNOWN) -> None:
        super().__init__(type)
        self.index = index
        self.block: Block = block
        self.location: Location = location

    @property
    def parent_block(self) -> Block | None:
        return self.block

    def __repr__(self) -> str:
        return REDUCING.describe(self)
