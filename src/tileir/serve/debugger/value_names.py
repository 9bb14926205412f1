"""What the author of a program calls its values.

A text names all of them.  Of a script that was compiled here the variables are known (`ValueNames.variables`), and
other values have the text of the expression that they are the value of.  Of bytecode that comes from a script only the
locations are known: what a statement assigns has the name of the variable, if no other statement assigns that.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Sequence

from tileir.dialect.ops import CONSTANT, FOR
from tileir.dialect.types import TileType
from tileir.execute.errors import LaunchError
from tileir.execute.locations.script import Script, visible_results
from tileir.execute.locations.source_locations import author_frames
from tileir.execute.recording.arrays import RecordedArray
from tileir.execute.recording.program import NumberedProgram
from tileir.execute.recording.script_variables import Content, Missing, ScriptVariables
from tileir.forking import cached_property
from tileir.ir.core import Operation
from tileir.ir.values import BlockArgument
from tileir.serve.debugger.expressions import BadExpression
from tileir.serve.debugger.source_lines import SourceLines, function_node


class ValueNames:
    """The names of the values of a kernel, by number."""

    def __init__(
        self,
        program: NumberedProgram,
        lines: SourceLines,
        arrays: Sequence[RecordedArray],
        find_variables: Callable[[], ScriptVariables | None],
    ) -> None:
        self._program, self._kind, self._arrays, self._find_variables = program, lines.kind, arrays, find_variables
        self._script: Script = Script()
        self.hides: bool = lines.kind == "script"
        """Whether what the author has no name for is not his: a script takes more values than it has variables."""

    # A launch that is never inspected does not need them.
    @cached_property
    def variables(self) -> ScriptVariables | None:
        """The variables of the script, where its lines are shown and cuTile reports them."""
        return self._find_variables() if self._kind == "script" else None

    @cached_property
    def _variable_names(self) -> frozenset[str]:
        return frozenset(self.variables.names if self.variables is not None else ())

    def is_variable(self, name: str) -> bool:
        """Whether a variable of the script has a name; its value depends on the statement."""
        return name in self._variable_names

    def static(self, name: str, number: int) -> Content:
        """What is known of a variable of the script before an operation without the launch."""
        binding = self.variables.binding(number, name) if self.variables is not None else None
        if self.variables is None or binding is None:
            return Missing("is no variable of this function")
        return self.variables.static(binding, number, self._program)

    @cached_property
    def _authors(self) -> list[str | None]:
        """What the author calls each of them, if he has a name for it."""
        found = [self._name(number) for number in range(len(self._program.values))]
        if self._kind == "script":
            for array in self._arrays:
                if array.parameter >= 0:
                    found[array.parameter] = array.name
        return found

    @cached_property
    def authored(self) -> list[bool]:
        return [name is not None for name in self._authors]

    @cached_property
    def shown(self) -> list[str]:
        """As the author writes them, with the sign of a text; as the program is printed where he has none."""
        sign = "%" if self._kind == "text" else ""
        return [
            self._program.name(number) if name is None else f"{sign}{name}" for number, name in enumerate(self._authors)
        ]

    @cached_property
    def numbers(self) -> dict[str, list[int]]:
        """The values of a name; a text's names with the sign and without."""
        found: dict[str, list[int]] = {}
        for number, name in enumerate(self._authors):
            printed = self._program.name(number)
            called = {printed, printed.removeprefix("%")} if self._kind != "text" or name is None else set()
            if name is not None:
                called |= {name, f"%{name}"} if self._kind == "text" else {name}
            for one in sorted(called):
                found.setdefault(one, []).append(number)
        if self.variables is not None:
            for one in self.variables.names:
                found[one] = self.variables.value_numbers(one)
        return found

    def is_known(self, name: str) -> bool:
        """Whether something has a name, now or later."""
        return name in self.numbers or any(array.name == name for array in self._arrays)

    def element(self, text: str) -> tuple[int, tuple[int, ...]] | None:
        """The array and the index that a text like `c[3, 4]` means; None if it is no element of an array."""
        found = re.fullmatch(r"\s*(.+?)\s*\[\s*(-?\d{1,18}(?:\s*,\s*-?\d{1,18})*)\s*\]\s*", text)
        array = next((one for one in self._arrays if found is not None and one.name == found[1]), None)
        if found is None or array is None:
            return None
        index = tuple([int(one) for one in found[2].split(",")])
        if len(index) == len(array.shape):
            # As Python counts from the end.
            index = tuple([one + extent if one < 0 else one for one, extent in zip(index, array.shape, strict=True)])
        try:
            array.place(index)
        except LaunchError as error:
            raise BadExpression(error.message) from None
        return array.number, index

    def _name(self, number: int) -> str | None:
        if self._kind != "script":
            return self._program.script_name(number) if self._kind == "text" else None
        value = self._program.values[number]
        if isinstance(value, BlockArgument):
            loop = value.block.parent_operation if value.index == 0 else None
            name = self._counter(loop) if loop is not None and loop.declaration is FOR else None
        else:
            owner = value.defining_operation
            if owner is None or value not in visible_results(owner):
                return None
            name = self._script.label(owner) or self._constant(owner)
        if name is None or not name.isidentifier() or self.variables is not None:
            return name
        return name if self._assigned[name] == 1 else None

    @cached_property
    def _assigned(self) -> Counter[str]:
        """How often the functions of the script assign each variable."""
        lines = [(one.file, one.line) for each in self._program.operations for one in author_frames(each.location)]
        found: Counter[str] = Counter()
        for function in {one: None for one in [function_node(*line) for line in dict.fromkeys(lines)] if one}:
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    found[node.id] += 1
                elif isinstance(node, ast.arg):
                    found[node.arg] += 1
        return found

    def _constant(self, owner: Operation) -> str | None:
        """The variable that a constant tile goes to, as of `total = ct.zeros((64, 64), ct.float32)`."""
        expression = self._script.expression(owner) if owner.declaration is CONSTANT else None
        if expression is None or not isinstance(expression.node, ast.Call) or not expression.name.isidentifier():
            return None
        type = owner.results[0].type
        return expression.name if isinstance(type, TileType) and type.rank else None

    def _counter(self, loop: Operation) -> str | None:
        expression = self._script.expression(loop)
        node = expression.statement.node if expression is not None else None
        return ast.unparse(node.target) if isinstance(node, ast.For) else None
