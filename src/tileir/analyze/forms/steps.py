"""What each pass of the optimizer makes of a program: its text, and which lines it changed, added or took away.

Operations are followed by identity: passes change a program in place.  So a value that only has another name makes no
change, and one that was moved is seen to be: of the operations that stay, the longest run that kept its order has not
moved.
"""

from __future__ import annotations

from typing import NamedTuple

from tileir.analyze.forms.form import Form, Numbers, Removed
from tileir.analyze.runs import heaviest_run
from tileir.ir.core import Operation
from tileir.ir.traits import CONSTANT_LIKE
from tileir.passes.pipeline import PassReport, optimize
from tileir.text.listing import PrintedLines, printed_lines

_State = tuple[object, ...]


def tile_form(id: str, title: str, placed: PrintedLines, numbers: Numbers) -> Form:
    """A tile program as a form."""
    links = [numbers.of([each.location for each in here]) for here in placed.operations]
    return Form(id, title, "tile", placed.lines, links)


def optimizer_steps(module: Operation, numbers: Numbers, level: int, rules: str, fuse_fma: bool) -> list[Form]:
    """A form for each pass that changed something; the module is left as the last one made it."""
    recorder = _Recorder(module, numbers)
    report = PassReport(verify=False, after_each=recorder.after_pass, keep_locations=True)
    optimize(module, level, rules, fuse_fma, report=report)
    return recorder.forms


class _Snapshot(NamedTuple):
    """A program between two passes."""

    states: dict[Operation, _State]
    placed: PrintedLines


def _states(module: Operation) -> dict[Operation, _State]:
    """Everything about each operation that a pass may change, in program order."""
    return {each: (each.parent, each.attributes, each.segments, *each.operands) for each in module.walk()}


class _Recorder:
    """Compares the program after each pass with what it was before."""

    def __init__(self, module: Operation, numbers: Numbers) -> None:
        self.forms: list[Form] = []
        self._numbers: Numbers = numbers
        self._before: _Snapshot = _Snapshot(_states(module), printed_lines(module))

    def after_pass(self, name: str, module: Operation) -> None:
        states, before = _states(module), self._before
        if list(states.items()) == list(before.states.items()):
            return
        after = _Snapshot(states, printed_lines(module))
        stayed = _stayed(list(before.states), after.states)
        fresh = {each for each, state in states.items() if each not in stayed or before.states[each] != state}
        number = len(self.forms) + 1
        form = tile_form(f"pass-{number}", f"{number}: {name}", after.placed, self._numbers)
        # What closes a region belongs to an operation that may have another operand: it has not changed then.
        is_start = {line: operation in fresh for operation, line in after.placed.starts.items()}
        form.changed = [
            is_start[line] if line in is_start else any(each not in before.states for each in operations)
            for line, operations in enumerate(after.placed.operations[: len(form.lines)])
        ]
        form.removed = _removed(before, after, stayed)
        form.trim()
        self.forms.append(form)
        self._before = after


def _stayed(before: list[Operation], after: dict[Operation, _State]) -> set[Operation]:
    """The operations that are where they were: the longest run in the same order.

    A constant that goes to the front has moved, and not what it went past; so constants count less.
    """
    places = {operation: place for place, operation in enumerate(after)}
    there = [operation for operation in before if operation in places]
    weights = [1 if each.declaration.traits & CONSTANT_LIKE else len(there) + 1 for each in there]
    return {there[index] for index in heaviest_run([places[each] for each in there], weights)}


def _removed(before: _Snapshot, after: _Snapshot, stayed: set[Operation]) -> list[Removed]:
    """The lines of operations that went or moved away, each in front of the next one that stayed."""
    found: list[Removed] = []
    following = len(after.placed.lines)
    for operation in reversed(list(before.states)):
        if operation in stayed:
            following = after.placed.starts.get(operation, following)
        elif operation in before.placed.starts:
            found.append(Removed(following, before.placed.lines[before.placed.starts[operation]]))
    return found[::-1]
