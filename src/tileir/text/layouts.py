"""Layouts of statements: where their values, types and words stand, learned from statements that were read.

`%7, %8 = load_ptr_tko weak %6 : tile<4xptr<f32>> -> tile<4xf32>, token` says with its words, at the places where they
are, all that the directives of its format find out; the rest are names of values, and types.  A statement with the same
words at the same places has the same attributes, and takes its operands and types from the same places: it is read
without asking each directive.
"""

from __future__ import annotations

from operator import itemgetter

from tileir.annotations import Callable, Final
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.declaration import ONE
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.text.state import ParseState
from tileir.text.values import ValueCursor

# So many statements of an operation are learned from before one that was learned is met, and one more for each.
_CREDIT: Final = 12
# So many layouts of one operation are tried, and a longer statement has none.
_MANY: Final = 8
_LONGEST: Final = 100

# An operand of whatever type its value has.
_ANY: Final = -1


class Layout:
    """Statements of one operation of so many tokens, from its name on, that have the same at the same places.

    `operand_types` and `result_types` are the numbers of types: first those whose places are `type_places`, then those
    that the text does not show.  `known` has the attributes by the words.
    """

    __slots__ = (
        "count",
        "ends_in_type",
        "hidden_types",
        "known",
        "operand_places",
        "operand_types",
        "result_types",
        "segments",
        "type_places",
        "words",
    )

    def __init__(
        self,
        count: int,
        operand_places: list[int],
        operand_types: list[int],
        type_places: list[int],
        hidden_types: list[Type],
        result_types: list[int],
        segments: tuple[int, ...] | None,
    ) -> None:
        self.count: int = count
        self.operand_places: list[int] = operand_places
        self.operand_types: list[int] = operand_types
        self.type_places: list[int] = type_places
        self.hidden_types: list[Type] = hidden_types
        self.result_types: list[int] = result_types
        self.segments: tuple[int, ...] | None = segments
        self.ends_in_type: bool = count - 1 in type_places
        taken = {*operand_places, *type_places}
        # The name of the operation is the first of them, so that there is one.
        self.words: Callable[[list[str]], object] = itemgetter(*[n for n in range(count) if n not in taken])
        self.known: dict[object, dict[str, Attribute]] = {}

    def is_like(self, other: Layout) -> bool:
        return (
            self.count == other.count
            and self.operand_places == other.operand_places
            and self.operand_types == other.operand_types
            and self.type_places == other.type_places
            and self.hidden_types == other.hidden_types
            and self.result_types == other.result_types
            and self.segments == other.segments
        )

    def match(self, cursor: ValueCursor, name_token: int) -> list[Value] | None:
        """The operands of the operation whose name is at a token; None, and nothing done, where it is another.

        Nor is it where a value or a type is not known yet: the directives know what to say.  The cursor stands behind
        it then, and has the types of the results, the attributes and the segments.
        """
        tokens = cursor.tokens
        end = name_token + self.count
        if end >= len(tokens):
            return None
        part = tokens[name_token:end]
        attributes = self.known.get(self.words(part))
        if attributes is None or not self._ends(cursor, tokens[end]):
            return None
        known = cursor.known_types
        types: list[Type] = []
        for place in self.type_places:
            type = known.get(part[place])
            if type is None:
                return None
            types.append(type)
        types += self.hidden_types
        values = cursor.values
        numbers = self.operand_types
        operands: list[Value] = []
        for place in self.operand_places:
            value = values.get(part[place])
            if value is None:
                return None
            number = numbers[len(operands)]
            if number != _ANY and value.type is not types[number]:
                return None
            operands.append(value)
        cursor.position = end
        cursor.matched_types = [types[number] for number in self.result_types]
        cursor.matched_attributes = attributes
        return operands

    def _ends(self, cursor: ValueCursor, following: str) -> bool:
        """Whether a statement ends before some token, whatever else could be in it."""
        if following == "}" or following == "loc":
            return True
        return self.ends_in_type and (following[:1] == "%" or following in cursor.declarations)


class Layouts:
    """The layouts of one operation that a text has."""

    __slots__ = ("balance", "found")

    def __init__(self) -> None:
        self.found: list[Layout] = []
        self.balance: int = _CREDIT

    def learn(self, cursor: ValueCursor, state: ParseState, operation: Operation) -> None:
        """Note how a statement is laid out that the cursor stands behind, if that is all there is to know of it."""
        self.balance -= 1
        for directive in state.assembly.directives:
            if not directive.is_regular(state):
                return
        layout = _layout_of(cursor, state, operation)
        if layout is None:
            return
        words = layout.words(cursor.tokens[state.name_token : cursor.position])
        for known in self.found:
            if known.is_like(layout):
                known.known[words] = operation.attributes
                return
        if len(self.found) < _MANY:
            layout.known[words] = operation.attributes
            self.found.append(layout)


def _layout_of(cursor: ValueCursor, state: ParseState, operation: Operation) -> Layout | None:
    """How the statement of an operation is laid out; None where not every type stands in a place of its own."""
    assembly = state.assembly
    start = state.name_token
    count = cursor.position - start
    if state.made_operand is not None or operation.declaration is not state.declaration or count > _LONGEST:
        return None
    if "{" in cursor.tokens[start : cursor.position]:
        return None
    type_places: list[int] = []
    hidden: list[Type] = []
    # The numbers of the types of each slot.
    numbers: list[list[int] | None] = []
    for slot, types in enumerate(state.types):
        places = state.type_tokens[slot]
        if types is None:
            numbers.append(None)
            continue
        if places is None or len(places) != len(types):
            return None
        found: list[int] = []
        for place, type in zip(places, types, strict=True):
            if cursor.known_types.get(cursor.tokens[place]) is not type or place < start:
                return None
            if place - start not in type_places:
                type_places.append(place - start)
            found.append(type_places.index(place - start))
        numbers.append(found)
    operand_places: list[int] = []
    operand_types: list[int] = []
    shown = len(type_places)
    for index, tokens in enumerate(state.operands):
        if tokens is None:
            continue
        slot = assembly.operand_slots[index]
        given = numbers[slot] if slot >= 0 else None
        if given is None:
            fixed = assembly.fixed[index]
            if fixed is not None:
                hidden.append(fixed)
            given = [_ANY if fixed is None else shown + len(hidden) - 1] * len(tokens)
        elif len(given) != len(tokens):
            return None
        operand_places += [token - start for token in tokens]
        operand_types += given
    result_types: list[int] = []
    for index, slot in enumerate(assembly.result_slots):
        given = numbers[slot] if slot >= 0 else None
        if given is not None:
            result_types += given[:1] if assembly.result_counts[index] == ONE else given
            continue
        fixed = assembly.result_fixed[index]
        if fixed is not None:
            hidden.append(fixed)
            result_types.append(shown + len(hidden) - 1)
        elif assembly.result_counts[index] == ONE:
            return None
    return Layout(count, operand_places, operand_types, type_places, hidden, result_types, operation.segments)
