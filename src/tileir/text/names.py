"""What the printer calls each value (docs/printing.md sections 3 and 4)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import CONSTANT
from tileir.ir.core import Block, Operation, Region
from tileir.ir.declaration import ISOLATED, OperationDeclaration
from tileir.ir.dense import DenseAttribute, signed_value
from tileir.ir.floats import FORMATS, integral_value, is_nan
from tileir.ir.interning import forget_with
from tileir.ir.types import I1, FloatType, IntegerType
from tileir.ir.values import OperationResult, Value

# As many names of numbers are kept as functions usually need: each begins with the first again.
_MOST_NUMBERED: Final = 4096


class _State:
    """What a region found when its naming began, and the names it added."""

    __slots__ = ("added", "arguments", "conflicts", "numbers")

    def __init__(self, numbers: int, arguments: int, conflicts: int) -> None:
        self.numbers: int = numbers
        self.arguments: int = arguments
        self.conflicts: int = conflicts
        self.added: list[str] = []


class Naming:
    """Assigns names region by region.

    A nested region starts from the state its parent had when all of the parent was named, and gives that state back,
    so siblings reuse numbers.  Instead of copying the set of used names, each region takes back what it added.

    The block of a function may be named while it is printed, up to the first operation with regions (`begin`): then it
    is gone through once.  Until that begins, it is `waiting`.  The names of what is named so may be kept in a row
    (`keep`), where looking for them takes less than in `names`: `kept_values` has the values and `kept_names` their
    names, and each value knows its place there.
    """

    __slots__ = (
        "arguments",
        "assume",
        "conflicts",
        "draft_names",
        "first_names",
        "kept_names",
        "kept_values",
        "names",
        "numbered",
        "numbers",
        "state",
        "used",
        "waiting",
    )

    def __init__(self, draft_names: bool = False) -> None:
        self.names: dict[Value, str] = {}
        self.used: set[str] = set()
        self.numbers: int = 0
        self.numbered: list[str] = []
        self.arguments: int = 0
        self.conflicts: int = 0
        self.draft_names: bool = draft_names
        # The name of a hint that nothing else has, once made: a string that was looked up knows its hash.
        self.first_names: dict[str, str] = {}
        # The declaration of assume, once there is one that needs it: programs without it need not load its chapter.
        self.assume: OperationDeclaration | None = None
        # The block that is named while it is printed, and what it found.
        self.waiting: Block | None = None
        self.state: _State | None = None
        self.kept_values: list[Value] = []
        self.kept_names: list[str] = []

    def name_regions(self, operation: Operation, isolated: bool = True) -> bool:
        """Name what is inside an operation; without `isolated` not what is inside isolated ones there: then False."""
        return self._name_nested([(operation, region) for region in reversed(operation.regions)], isolated)

    def begin(self, operation: Operation) -> None:
        """Name the arguments of the only block of an operation, whose results are named while they are printed."""
        region = operation.regions[0]
        block = region.blocks[0]
        self.state = _State(self.numbers, self.arguments, self.conflicts)
        self._name_arguments(block, operation, region, 0, self.state.added)
        self.waiting = block

    def keep(self, value: Value, name: str) -> None:
        """Keep a name in the row."""
        value.place = len(self.kept_values)
        self.kept_values.append(value)
        self.kept_names.append(name)

    def name(self, value: Value) -> str:
        """The name of a value, from the row or from `names`."""
        place = value.place
        kept = self.kept_values
        if place < len(kept) and kept[place] is value:
            return self.kept_names[place]
        return self.names[value]

    def row(self, values: list[Value]) -> str:
        """The names of values with commas between them."""
        return ", ".join([self.name(value) for value in values])

    def bring(self, values: list[Value]) -> None:
        """Put names that are kept in the row into `names`, where all that prints looks for them."""
        names = self.names
        for value in values:
            if value not in names:
                names[value] = self.name(value)

    def bring_all(self) -> None:
        """Put all names of the row into `names`."""
        for place, value in enumerate(self.kept_values):
            self.names[value] = self.kept_names[place]
        self.forget_kept()

    def forget_kept(self) -> None:
        self.kept_values.clear()
        self.kept_names.clear()

    def result_name(self, operation: Operation) -> str:
        """A new name for the only result of an operation without regions."""
        state = self.state
        hint = self.hint(operation)
        return self.next_number() if hint is None or state is None else self._unique(hint, state.added)

    def name_results(self, operation: Operation) -> None:
        """Name the results of an operation without regions that has several."""
        if self.state is not None:
            self._name_results(operation, self.state.added)

    def name_rest(self, operation: Operation | None) -> None:
        """Name the results of an operation and of those that follow it, and then what they have in their regions."""
        if self.state is not None:
            nested: list[Operation] = []
            self._name_row(operation, self.state.added, nested)
            pending: list[tuple[Operation, Region] | _State] = []
            for inner in reversed(nested):
                for region in reversed(inner.regions):
                    pending.append((inner, region))
            self._name_nested(pending, True)

    def end(self) -> None:
        """Give back the state that `begin` found; what was not printed after all is named first."""
        waiting, state = self.waiting, self.state
        if waiting is not None:
            self.name_rest(waiting.first)
        self.waiting = self.state = None
        self.forget_kept()
        if state is not None:
            self._give_back(state)

    def _give_back(self, state: _State) -> None:
        self.numbers, self.arguments, self.conflicts = state.numbers, state.arguments, state.conflicts
        self.used.difference_update(state.added)

    def _name_nested(self, pending: list[tuple[Operation, Region] | _State], isolated: bool) -> bool:
        """Name regions and what is in them; an explicit stack, because programs may nest deeply.

        It has regions to come, and states to give back.
        """
        complete = True
        while pending:
            item = pending.pop()
            if isinstance(item, _State):
                self._give_back(item)
                continue
            owner, region = item
            state = _State(self.numbers, self.arguments, self.conflicts)
            nested: list[Operation] = []
            for index, block in enumerate(region.blocks):
                self._name_arguments(block, owner, region, index, state.added)
                self._name_row(block.first, state.added, nested)
            pending.append(state)
            nested.reverse()
            for inner in nested:
                if not isolated and inner.declaration.traits & ISOLATED:
                    complete = False
                    continue
                for part in reversed(inner.regions):
                    pending.append((inner, part))
        return complete

    def _name_row(self, operation: Operation | None, added: list[str], nested: list[Operation]) -> None:
        """Name the results of an operation and of those that follow it in its block."""
        names = self.names
        numbered = self.numbered
        while operation is not None:
            results = operation.results
            if len(results) == 1:
                # Most operations.
                hint = None if operation.declaration.is_numbered else self.hint(operation)
                if hint is not None:
                    names[results[0]] = self._unique(hint, added)
                elif self.numbers < len(numbered):
                    names[results[0]] = numbered[self.numbers]
                    self.numbers += 1
                else:
                    names[results[0]] = self.next_number()
            elif results:
                self._name_results(operation, added)
            if operation.regions:
                nested.append(operation)
            operation = operation.next

    def _name_results(self, operation: Operation, added: list[str]) -> None:
        """Name the results of an operation that has several."""
        names = self.names
        results = operation.results
        hint = None if operation.declaration.is_numbered else self.hint(operation)
        if hint is None:
            self._share(results, self.next_number())
        elif len(operation.declaration.name_hints) == len(results):
            for index, part in enumerate(operation.declaration.name_hints):
                names[results[index]] = self._unique(part, added)
        else:
            self._share(results, self._unique(hint, added))

    def next_number(self) -> str:
        """The name of what is numbered next."""
        number = self.numbers
        self.numbers = number + 1
        numbered = self.numbered
        if number < len(numbered):
            return numbered[number]
        name = f"%{number}"
        if number == len(numbered) < _MOST_NUMBERED:
            numbered.append(name)
        return name

    def _share(self, results: tuple[OperationResult, ...], name: str) -> None:
        for result in results:
            self.names[result] = f"{name}#{result.index}"

    def _name_arguments(self, block: Block, operation: Operation, region: Region, index: int, added: list[str]) -> None:
        arguments = block.arguments
        if not arguments:
            return
        declared = operation.declaration.regions
        style = declared[0].arguments if declared and index == 0 else "arg"
        for argument in arguments:
            if style == "for":
                hint = "loopIdx" if argument.index == 0 else f"iterArg{argument.index - 1}"
            elif style == "reduce" and len(arguments) == 2:
                hint = "reduce_rhs" if argument.index else "reduce_lhs"
            elif style == "reduce":
                hint = f"reduce_{'rhs' if argument.index % 2 else 'lhs'}{argument.index // 2}"
            else:
                hint = f"arg{self.arguments}"
                self.arguments += 1
            self.names[argument] = self._unique(hint, added)

    def _unique(self, hint: str, added: list[str]) -> str:
        used = self.used
        first = self.first_names.get(hint)
        if first is None:
            first = self.first_names[hint] = f"%{hint}"
        name = first
        # Whether there is one more tells whether it is new, without a second look.
        before = len(used)
        used.add(name)
        while len(used) == before:
            name = f"{first}_{self.conflicts}"
            self.conflicts += 1
            used.add(name)
        added.append(name)
        return name

    def hint(self, operation: Operation) -> str | None:
        """The hint of the first result; None for an operation that is numbered."""
        declaration = operation.declaration
        if declaration.name_hints:
            return declaration.name_hints[0]
        if declaration is CONSTANT:
            value = operation.attributes.get("value")
            return self._constant_hint(value) if isinstance(value, DenseAttribute) else None
        if declaration.is_numbered:
            return None
        assume = self.assume
        if assume is None:
            from tileir.dialect.ops import ASSUME

            assume = self.assume = ASSUME
        return self._assume_hint(operation, assume) if declaration is assume else None

    def _constant_hint(self, value: DenseAttribute) -> str:
        if self.draft_names:
            return draft_constant_name(value)
        found = _constant_names.get(value)
        if found is None:
            found = _constant_names[value] = constant_name(value)
        return found

    def _assume_hint(self, operation: Operation, assume: OperationDeclaration) -> str:
        """`assume_` and the hint of what it assumes about; chains are followed without recursion."""
        prefix = ""
        value: Value = operation.operands[0] if operation.operands else operation.results[0]
        while isinstance(value, OperationResult):
            producer = value.operation
            if producer is operation:
                break
            if producer.declaration is assume:
                prefix += "assume_"
                value = producer.operands[0]
                if len(prefix) > 700:
                    break
                continue
            hint = self._result_hint(producer, value.index)
            return f"{prefix}assume" if hint is None else f"{prefix}assume_{hint}"
        return f"{prefix}assume" if prefix else "assume"

    def _result_hint(self, producer: Operation, index: int) -> str | None:
        """The hint one result has; empty for operations that name only some of theirs."""
        hints = producer.declaration.name_hints
        if hints:
            return hints[index] if index < len(hints) else ""
        return self.hint(producer)


class Numbering(Naming):
    """The names of the generic form: numbers, and numbered arguments."""

    __slots__ = ()

    def hint(self, operation: Operation) -> str | None:
        return None

    def _name_arguments(self, block: Block, operation: Operation, region: Region, index: int, added: list[str]) -> None:
        for argument in block.arguments:
            self.names[argument] = f"%arg{self.arguments}"
            self.arguments += 1


_constant_names: Final[dict[DenseAttribute, str]] = {}
forget_with(_constant_names.clear)


def constant_name(value: DenseAttribute) -> str:
    """The name hint of a constant (docs/printing.md section 3)."""
    element = value.element_type
    if not value.is_splat:
        return f"cst_{element.spelling}"
    if element is I1:
        return "true" if value.bits(0) & 1 else "false"
    bits = value.bits(0)
    if isinstance(element, IntegerType):
        return f"cst_{signed_value(element.width, bits)}_{element.spelling}"
    if isinstance(element, FloatType):
        form = FORMATS[element.name]
        if is_nan(form, bits):
            return f"cst_NaN_{element.spelling}"
        integral = integral_value(form, bits)
        if integral is not None:
            return f"cst_{integral}_{element.spelling}"
    return f"cst_{element.spelling}"


def draft_constant_name(value: DenseAttribute) -> str:
    """The printer draft's five-path name hint, chosen with names="draft"."""
    element = value.element_type
    if value.is_splat:
        bits = value.bits(0)
        if element is I1:
            return "true" if bits & 1 else "false"
        if isinstance(element, FloatType) and is_nan(FORMATS[element.name], bits):
            return "cst_NaN"
        if isinstance(element, IntegerType):
            return f"cst_{signed_value(element.width, bits)}"
    return "cst_i1" if element is I1 else "cst"
