"""Layouts of statements: where their values, types and words stand, learned from statements that were read.

`%7, %8 = load_ptr_tko weak %6 : tile<4xptr<f32>> -> tile<4xf32>, token` says with its words, at the places where they
are, all that the directives of its format find out; the rest are names of values, and types.  A statement with the same
words at the same places has the same attributes, and takes its operands and types from the same places: it is read
without asking each directive.  Where what a directive reads depends on types, those are words as well.
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
from tileir.text.syntax.format import Assembly
from tileir.text.values import ValueCursor

# So many statements of an operation are learned from before one that was learned is met, and one more for each.
_CREDIT: Final = 12
# The same where types are words: few of them come again, unless a text repeats itself.
_TYPED_CREDIT: Final = 3
# So many layouts of one operation are tried, and a longer statement has none.
_MANY: Final = 8
_LONGEST: Final = 100

# An operand of whatever type its value has.
_ANY: Final = -1


class Wording:
    """What statements of a layout have in common that have the same words: attributes, and types at no place."""

    __slots__ = ("attributes", "hidden_types")

    def __init__(self, attributes: dict[str, Attribute], hidden_types: list[Type]) -> None:
        self.attributes: dict[str, Attribute] = attributes
        self.hidden_types: list[Type] = hidden_types


class Layout:
    """Statements of one operation of so many tokens, from its name on, that have the same at the same places.

    `operand_types` and `result_types` are the numbers of types: first those whose places are `type_places`, then the
    hidden ones of the wording.  `known` has the wordings by the words.
    """

    __slots__ = (
        "count",
        "ends_in_type",
        "is_typed",
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
        result_types: list[int],
        segments: tuple[int, ...] | None,
        ends_in_type: bool,
    ) -> None:
        self.count: int = count
        self.operand_places: list[int] = operand_places
        self.operand_types: list[int] = operand_types
        self.type_places: list[int] = type_places
        self.result_types: list[int] = result_types
        self.segments: tuple[int, ...] | None = segments
        self.ends_in_type: bool = ends_in_type
        taken = {*operand_places, *type_places}
        # Whether types are words, where there are any.
        self.is_typed: bool = not type_places
        # The name of the operation is the first of them, so that there is one.
        self.words: Callable[[list[str]], object] = itemgetter(*[n for n in range(count) if n not in taken])
        self.known: dict[object, Wording] = {}

    def is_like(self, other: Layout) -> bool:
        return (
            self.count == other.count
            and self.operand_places == other.operand_places
            and self.operand_types == other.operand_types
            and self.type_places == other.type_places
            and self.result_types == other.result_types
            and self.segments == other.segments
            and self.ends_in_type == other.ends_in_type
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
        wording = self.known.get(self.words(part))
        if wording is None or not self._ends(cursor, tokens[end]):
            return None
        known = cursor.known_types
        types: list[Type] = []
        for place in self.type_places:
            type = known.get(part[place])
            if type is None:
                return None
            types.append(type)
        types += wording.hidden_types
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
        cursor.matched_attributes = wording.attributes
        return operands

    def _ends(self, cursor: ValueCursor, following: str) -> bool:
        """Whether a statement ends before some token, whatever else could be in it."""
        if following == "}" or following == "loc":
            return True
        return self.ends_in_type and (following[:1] == "%" or following in cursor.declarations)


class Layouts:
    """The layouts of one operation that a text has."""

    __slots__ = ("balance", "found", "typed_balance")

    def __init__(self) -> None:
        self.found: list[Layout] = []
        self.balance: int = _CREDIT
        self.typed_balance: int = _TYPED_CREDIT

    def gain(self, layout: Layout) -> None:
        """Note that what was learned was met again."""
        self.balance += 1
        if layout.is_typed:
            self.typed_balance += 2

    def learn(self, cursor: ValueCursor, state: ParseState, operation: Operation) -> None:
        """Note how a statement is laid out that the cursor stands behind, if that is all there is to know of it."""
        self.balance -= 1
        start = state.name_token
        tokens = cursor.tokens[start : cursor.position]
        if state.made_operand is not None or operation.declaration is not state.declaration or len(tokens) > _LONGEST:
            return
        values = 0
        for token in tokens:
            # A dictionary may say anything, and an alias means something in the whole text.
            if token == "{" or ((token[0] == "#" or token[0] == "!") and "." not in token):
                return
            values += token[0] == "%"
        if values != len(operation.operands):
            return
        hidden: list[Type] = []
        ends_in_type = tokens[-1] in cursor.known_types
        layout: Layout | None = None
        assembly = state.assembly
        assert isinstance(assembly, Assembly)
        if layout is None:
            self.typed_balance -= 1
            if self.typed_balance < 0:
                return
            layout = _layout_with_types(state, operation, len(tokens), hidden, ends_in_type)
        words = layout.words(tokens)
        for known in self.found:
            if known.is_like(layout):
                known.known[words] = Wording(operation.attributes, hidden)
                return
        if len(self.found) < _MANY:
            layout.known[words] = Wording(operation.attributes, hidden)
            self.found.append(layout)


def _layout_with_types(
    state: ParseState, operation: Operation, count: int, hidden: list[Type], ends_in_type: bool
) -> Layout:
    """How a statement is laid out whose types are words: the types of its values are those of all with these."""
    places = [token - state.name_token for tokens in state.operands if tokens is not None for token in tokens]
    hidden[:] = [value.type for value in operation.operands]
    taken = len(hidden)
    hidden += [result.type for result in operation.results]
    results = list(range(taken, len(hidden)))
    return Layout(count, places, list(range(taken)), [], results, operation.segments, ends_in_type)


def _layout_of(
    cursor: ValueCursor, state: ParseState, operation: Operation, hidden: list[Type], ends_in_type: bool
) -> Layout | None:
    """How the statement of an operation is laid out; None where not every type stands in a place of its own.

    The types that the text does not show are put into `hidden`.
    """
    assembly = state.assembly
    start = state.name_token
    type_places: list[int] = []
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
    count = cursor.position - start
    return Layout(count, operand_places, operand_types, type_places, result_types, operation.segments, ends_in_type)
