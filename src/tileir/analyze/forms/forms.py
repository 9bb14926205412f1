"""All representations of a kernel: those available on this machine, each made on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from tileir.analyze.bytecode_listing import Listing
from tileir.analyze.forms.form import MOST_LINES, Numbers, RemovedLine, Representation, numbered, operations_of
from tileir.analyze.forms.source import Source, source_form, source_of_kernel
from tileir.analyze.runs import heaviest_run
from tileir.bytecode.annotated import Node, annotate
from tileir.dialect.ops import CONSTANT
from tileir.execute.engine.interface import Backend, BackendRepresentation, KernelSettings, PreparedKernel
from tileir.execute.engine.registry import all_engines, is_own
from tileir.execute.launching.entries import select_entry
from tileir.forking import cached_property
from tileir.interface import to_bytecode, verify
from tileir.ir.core import Operation
from tileir.ir.diagnostics import OptionError, TileIRError
from tileir.ir.quoting import type_text
from tileir.ir.traits import CONSTANT_LIKE
from tileir.ir.traversal import ancestors
from tileir.passes.pipeline import PassReport, optimize
from tileir.text.listing import FirstLinePrinter, PrintedLines, printed_lines

if TYPE_CHECKING:
    from tileir.bridge.specialized import SpecializedKernel
    from tileir.execute.launching.kernel import Kernel


class FormTitle(NamedTuple):
    """A representation by name; `reason` is why it is not available here, None if it is."""

    id: str
    title: str
    reason: str | None


class Representations:
    """The representations of a kernel, with every line linked to the operations of the tile program that it comes from.

        forms = tileir.analysis.Representations(tileir.load("examples/softmax.mlir"))
        for each in forms.list():
            print(each.id, each.title, each.reason)
        print(forms.get("loops").links)

    The program is a module or a kernel that was compiled; `entry` names the kernel where a module has several.
    `level`, `rules` and `fuse_fma` are those of `tileir.optimize`, for the steps of the optimizer; `fast`, `cpu` and
    `exact` those of `tileir.compile`, for what backends make of the program as it is given.  A representation is made
    when it is first requested.
    """

    def __init__(
        self,
        program: Operation | Kernel | SpecializedKernel,
        *,
        entry: str | None = None,
        level: int = 3,
        rules: str = "parity",
        fuse_fma: bool = False,
        fast: bool = False,
        cpu: str | None = None,
        exact: bool = False,
    ) -> None:
        # The entry of a compiled kernel, or of the kernel inside of a specialized one.
        found = getattr(getattr(program, "kernel", program), "entry", None)
        if isinstance(program, Operation):
            verify(program)
            self.module: Operation = program
        elif isinstance(found, Operation):
            self.module = [found, *ancestors(found)][-1]
        else:
            raise TypeError(f"representations are of a module or a compiled kernel, not of {type_text(program)}")
        self.entry: Operation = (
            found if isinstance(found, Operation) and entry is None else select_entry(self.module, entry)
        )
        self._optimizing: dict[str, Any] = {"level": level, "rules": rules, "fuse_fma": fuse_fma}
        self._settings: KernelSettings = KernelSettings(exact, fast, cpu)
        self._numbers: Numbers = Numbers()
        self._count: int = len(operations_of(self.entry))
        self._source: Source = source_of_kernel(self.entry)
        self._prepared: dict[Backend, PreparedKernel] = {}
        self._made: dict[str, Representation] = {}

    def list(self) -> list[FormTitle]:
        """The representations, in the order in which a program goes through them."""
        return [title for title, _ in self._offered()]

    def get(self, id: str) -> Representation:
        """A representation by its id; an `OptionError` lists the ids, or names why this one is not available here."""
        if id not in self._made:
            self._made[id] = self._make(id)
        return self._made[id]

    def _make(self, id: str) -> Representation:
        for title, make in self._offered(str(id).startswith("pass-")):
            if title.id == id:
                if title.reason is not None:
                    is_own = id in ("source", "bytecode")
                    what = f"there is no {id} to show" if is_own else f"the representation '{id}' is not to be had here"
                    raise OptionError(f"{what}: {title.reason}")
                return make()
        names = ", ".join([each.id for each in self.list()])
        raise OptionError(f"there is no representation '{id}': choose one of {names}")

    def _offered(self, with_steps: bool = True) -> Iterator[tuple[FormTitle, Callable[[], Representation]]]:
        yield FormTitle("source", *self._source), lambda: source_form(self.entry)
        # The copy has the text of the program, and the numbers.
        tile = FormTitle("tile", "Tile program", None)
        yield tile, lambda: tile_form(tile.id, tile.title, printed_lines(self._numbered[0]), self._numbers)
        for step in self._steps if with_steps else ():
            yield FormTitle(step.id, step.title, None), partial(replace, step)
        data = self._bytecode
        reason = data if isinstance(data, str) else None
        yield FormTitle("bytecode", "Bytecode", reason), lambda: _bytecode_form(data, self.entry.symbol_name)
        for engine, form in _engine_forms():
            yield FormTitle(form.id, form.title, self._reason(form) or None), partial(self._engine_form, engine, form)

    @cached_property
    def _numbered(self) -> tuple[Operation, Operation]:
        """A copy of the program, whose operations are located at their numbers."""
        return numbered(self.module, self.entry)

    @cached_property
    def _bytecode(self) -> bytes | str:
        """The bytecode of the program, or why it has none: some operations of the drafts do not."""
        try:
            return to_bytecode(self.module, preserve=True)
        except TileIRError as error:
            return error.message

    @cached_property
    def _steps(self) -> Sequence[Representation]:
        copy, _ = numbered(self.module, self.entry)
        recorder = _Recorder(copy, self._numbers)
        report = PassReport(verify=False, after_each=recorder.after_pass, keep_locations=True)
        optimize(copy, **self._optimizing, report=report)
        return recorder.forms

    def _reason(self, form: BackendRepresentation) -> str:
        """Why what an engine shows is not to be had here; empty if it is."""
        if not form.reason and 0 < form.most_operations < self._count:
            return (
                f"the kernel has {self._count:,} operations, and this is made of up to {form.most_operations:,}: more "
                "would take minutes"
            )
        return form.reason

    def _engine_form(self, engine: Backend, form: BackendRepresentation) -> Representation:
        kernel = self._prepared.get(engine)
        if kernel is None:
            # Imported here: what has no code has no use for NumPy.
            from tileir.execute.memory import Globals

            entry = self._numbered[1]
            memory = Globals(entry.parent_operation)
            kernel = self._prepared[engine] = engine.prepare(entry, memory.regions, self._settings)
        made = kernel.located(form.stage)
        links = [self._numbers.of(locations) for locations in made.locations]
        return Representation(form.id, form.title, form.language, made.lines, links, notes=list(made.notes))


def _engine_forms() -> list[tuple[Backend, BackendRepresentation]]:
    """What engines show, those of tileir first; a foreign engine that fails has its error in place of its forms."""
    found: list[tuple[Backend, BackendRepresentation]] = []
    for engine in all_engines()[0]:
        try:
            forms = list(engine.representations())
        except Exception as error:
            if is_own(engine):
                raise
            forms = [BackendRepresentation(engine.name, engine.called, "", "", f"{type(error).__name__}: {error}")]
        found += [(engine, form) for form in forms]
    return found


def _bytecode_form(data: bytes | str, entry: str | None) -> Representation:
    """The bytes of a module as a form; those of one of its kernels are linked."""
    assert isinstance(data, bytes), "what has no bytecode has no view of it"
    found = annotate(data)
    assert found.module is not None, "it was written just now"
    listing = Listing(found, FirstLinePrinter(found.module, generic=False))
    # One more line shows that there are more.
    lines = listing.lines(MOST_LINES + 1)
    # What is read has the order of what was written.
    operations = operations_of(select_entry(found.module, entry))
    # By operation; of the entries in the table of constants those whose value they are, by the name of their group.
    linked: dict[object, list[int]] = {operation: [number] for number, operation in enumerate(operations)}
    for node, group in listing.around.items():
        operation = group.operation
        if operation is not None and operation in linked and operation.declaration is CONSTANT and node.name == "value":
            linked.setdefault(f"constant {node.value}", []).extend(linked[operation])

    def numbers_of(node: Node | None) -> list[int]:
        while node is not None:
            key = node.operation if node.operation is not None else node.name
            if key in linked:
                return linked[key]
            node = listing.around.get(node)
        return []

    links = [numbers_of(node) for node in listing.nodes[:MOST_LINES]]
    notes = [f"The first {MOST_LINES:,} lines are shown."] if len(lines) > MOST_LINES else []
    return Representation(
        "bytecode", f"Bytecode, {len(data):,} bytes", "bytecode", lines[:MOST_LINES], links, notes=notes
    )


# --- the steps of the optimizer ---
# Operations are followed by identity: passes change a program in place.  So a value that only has another name makes
# no change, and one that was moved is seen to be: of the operations that stay, the longest run that kept its order has
# not moved.

_State = tuple[object, ...]


def tile_form(id: str, title: str, placed: PrintedLines, numbers: Numbers) -> Representation:
    """A tile program as a form."""
    links = [numbers.of([each.location for each in here]) for here in placed.operations]
    return Representation(id, title, "tile", placed.lines, links)


def _states(module: Operation) -> dict[Operation, _State]:
    """Everything about each operation that a pass may change, in program order."""
    return {each: (each.parent, each.attributes, each.segments, *each.operands) for each in module.walk()}


class _Recorder:
    """Compares the program after each pass with what it was before."""

    def __init__(self, module: Operation, numbers: Numbers) -> None:
        self.forms: list[Representation] = []
        self._numbers: Numbers = numbers
        self._states: dict[Operation, _State] = _states(module)
        self._placed: PrintedLines = printed_lines(module)

    def after_pass(self, name: str, module: Operation) -> None:
        states, before = _states(module), self._states
        if list(states.items()) == list(before.items()):
            return
        placed = printed_lines(module)
        stayed = _stayed(list(before), states)
        fresh = {each for each, state in states.items() if each not in stayed or before[each] != state}
        number = len(self.forms) + 1
        form = tile_form(f"pass-{number}", f"{number}: {name}", placed, self._numbers)
        # What closes a region belongs to an operation that may have another operand: it has not changed then.
        is_start = {line: operation in fresh for operation, line in placed.starts.items()}
        form.changed = [
            is_start[line] if line in is_start else any(each not in before for each in operations)
            for line, operations in enumerate(placed.operations[: len(form.lines)])
        ]
        # The lines of operations that went or moved away, each in front of the next one that stayed.
        removed: list[RemovedLine] = []
        following = len(placed.lines)
        for operation in reversed(before):
            if operation in stayed:
                following = placed.starts.get(operation, following)
            elif operation in self._placed.starts:
                removed.append(RemovedLine(following, self._placed.lines[self._placed.starts[operation]]))
        form.removed = removed[::-1]
        form.trim()
        self.forms.append(form)
        self._states, self._placed = states, placed


def _stayed(before: list[Operation], after: dict[Operation, _State]) -> set[Operation]:
    """The operations that are where they were: the longest run in the same order.

    A constant that goes to the front has moved, and not what it went past; so constants count less.
    """
    places = {operation: place for place, operation in enumerate(after)}
    there = [operation for operation in before if operation in places]
    weights = [1 if each.declaration.traits & CONSTANT_LIKE else len(there) + 1 for each in there]
    return {there[index] for index in heaviest_run([places[each] for each in there], weights)}
