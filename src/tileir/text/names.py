"""What the printer calls each value (docs/reference/printing.md sections 3 and 4)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import CONSTANT
from tileir.ir.core import Block, Operation, Region
from tileir.ir.dense import DenseAttribute, signed_value
from tileir.ir.floats import FORMATS, integral_value, is_nan
from tileir.ir.interning import forget_with
from tileir.ir.types import I1, FloatType, IntegerType
from tileir.ir.values import OperationResult, Value

# The first numbers as names, for all functions: each begins with the first again.
_NUMBERED: Final = [f"%{number}" for number in range(512)]
_ARGUMENTS: Final = [f"arg{number}" for number in range(64)]


class _Scope:
    """The counters that a region found when its naming began, and the names it added."""

    def __init__(self, numbers: int, arguments: int, conflicts: int) -> None:
        self.numbers: int = numbers
        self.arguments: int = arguments
        self.conflicts: int = conflicts
        self.added: list[str] = []


class Naming:
    """Assigns names region by region.

    A nested region starts from the counters its parent had when all of the parent was named, and restores them, so
    siblings reuse numbers.  Instead of copying the set of used names, each region removes what it added.
    """

    def __init__(self, draft_names: bool = False) -> None:
        self.names: dict[Value, str] = {}
        self.used: set[str] = set()
        self.numbers: int = 0
        self.arguments: int = 0
        self.conflicts: int = 0
        self.draft_names: bool = draft_names
        # The first name of each hint, made once: a string that was looked up keeps its hash.
        self.first_names: dict[str, str] = {}

    def name_regions(self, operation: Operation) -> None:
        """Name what is inside an operation.  An explicit stack, because programs may nest deeply.

        It has regions to name, and scopes to restore.
        """
        pending: list[tuple[Operation, Region] | _Scope] = []
        for region in reversed(operation.regions):
            pending.append((operation, region))
        while pending:
            item = pending.pop()
            if isinstance(item, _Scope):
                self.numbers, self.arguments, self.conflicts = item.numbers, item.arguments, item.conflicts
                self.used.difference_update(item.added)
                continue
            owner, region = item
            scope = _Scope(self.numbers, self.arguments, self.conflicts)
            pending.append(scope)
            nested: list[Operation] = []
            for index, block in enumerate(region.blocks):
                self._name_arguments(block, owner, region, index, scope.added)
                self._name_results_of(block, scope.added, nested)
            for inner in reversed(nested):
                for part in reversed(inner.regions):
                    pending.append((inner, part))

    def _name_results_of(self, block: Block, added: list[str], nested: list[Operation]) -> None:
        """Name the results of the operations of a block; `nested` takes those with regions."""
        names = self.names
        numbered = _NUMBERED
        operation = block.first
        while operation is not None:
            results = operation.results
            if len(results) == 1:
                # Most operations.
                hint = None if operation.declaration.is_numbered else self.hint(operation)
                if hint is not None:
                    names[results[0]] = self._unique(hint, added)
                else:
                    number = self.numbers
                    names[results[0]] = numbered[number] if number < len(numbered) else f"%{number}"
                    self.numbers = number + 1
            elif results:
                self._name_several(operation, added)
            if operation.regions:
                nested.append(operation)
            operation = operation.next

    def _name_several(self, operation: Operation, added: list[str]) -> None:
        names = self.names
        results = operation.results
        hint = None if operation.declaration.is_numbered else self.hint(operation)
        if hint is not None and len(operation.declaration.name_hints) == len(results):
            for index, part in enumerate(operation.declaration.name_hints):
                names[results[index]] = self._unique(part, added)
            return
        name = f"%{self.numbers}" if hint is None else self._unique(hint, added)
        self.numbers += hint is None
        for result in results:
            names[result] = f"{name}#{result.index}"

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
                number = self.arguments
                hint = _ARGUMENTS[number] if number < len(_ARGUMENTS) else f"arg{number}"
                self.arguments += 1
            self.names[argument] = self._unique(hint, added)

    def _unique(self, hint: str, added: list[str]) -> str:
        used = self.used
        first = self.first_names.get(hint)
        if first is None:
            first = self.first_names[hint] = f"%{hint}"
        name = first
        # The name is new if the set has grown: this saves a second lookup.
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
        # The only other operation whose names are computed is `assume`.
        return self._assume_hint(operation)

    def _constant_hint(self, value: DenseAttribute) -> str:
        if self.draft_names:
            return constant_name(value, is_draft=True)
        found = _constant_names.get(value)
        if found is None:
            found = _constant_names[value] = constant_name(value)
        return found

    def _assume_hint(self, operation: Operation) -> str:
        """`assume_` and the hint of what it assumes about; chains are followed without recursion."""
        prefix = ""
        value: Value = operation.operands[0] if operation.operands else operation.results[0]
        while isinstance(value, OperationResult):
            producer = value.operation
            if producer is operation:
                break
            if producer.declaration is operation.declaration:
                prefix += "assume_"
                value = producer.operands[0]
                if len(prefix) > 700:
                    break
                continue
            hint = self._result_hint(producer, value.index)
            return f"{prefix}assume" if hint is None else f"{prefix}assume_{hint}"
        return f"{prefix}assume"

    def _result_hint(self, producer: Operation, index: int) -> str | None:
        """The hint one result has; empty for operations that name only some of theirs."""
        hints = producer.declaration.name_hints
        if hints:
            return hints[index] if index < len(hints) else ""
        return self.hint(producer)


class Numbering(Naming):
    """The names of the generic form: numbers, and numbered arguments."""

    def hint(self, operation: Operation) -> str | None:
        return None

    def _name_arguments(self, block: Block, operation: Operation, region: Region, index: int, added: list[str]) -> None:
        for argument in block.arguments:
            self.names[argument] = f"%arg{self.arguments}"
            self.arguments += 1


_constant_names: Final[dict[DenseAttribute, str]] = {}
forget_with(_constant_names.clear)


def constant_name(value: DenseAttribute, is_draft: bool = False) -> str:
    """The name hint of a constant (docs/reference/printing.md section 3), with `is_draft` that of the printer draft."""
    element = value.element_type
    stem = "cst"
    if value.is_splat:
        bits = value.bits(0)
        if element is I1:
            return "true" if bits & 1 else "false"
        if isinstance(element, IntegerType):
            stem = f"cst_{signed_value(element.width, bits)}"
        elif isinstance(element, FloatType):
            form = FORMATS[element.name]
            integral = None if is_draft or is_nan(form, bits) else integral_value(form, bits)
            stem = "cst_NaN" if is_nan(form, bits) else "cst" if integral is None else f"cst_{integral}"
    return stem if is_draft and element is not I1 else f"{stem}_{element.spelling}"
