"""`diff`: what is different about two programs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from tileir import notebook
from tileir.analyze.difference.changes import Changes, Kind, ProgramChange, summary_of
from tileir.analyze.difference.listing import Listing, side_by_side, unified
from tileir.analyze.difference.programs import MatchedPrograms
from tileir.collector import CollectorPaused
from tileir.forking import cached_property
from tileir.interface import load
from tileir.ir.core import Operation
from tileir.ir.diagnostics import OptionError
from tileir.ir.quoting import type_text

if TYPE_CHECKING:
    from tileir.analyze.difference.semantic import SemanticDifference
    from tileir.execute.arguments.argument_text import LaunchDescription

_TITLES = ("the first program", "the second program")


class ProgramDifference(MatchedPrograms):
    """What is different about two programs; true if anything is.  Made by `tileir.diff`."""

    def __init__(
        self, left: Operation, right: Operation, *, names: bool, locations: bool, titles: tuple[str, str] = _TITLES
    ) -> None:
        with CollectorPaused():
            super().__init__(left, right, names=names, locations=locations, titles=titles)
            self.changes: list[ProgramChange] = Changes(self).found()
            """In the order of the programs."""

    def __len__(self) -> int:
        return len(self.changes)

    def __repr__(self) -> str:
        return f"<ProgramDifference: {self.summary()}>"

    def _of(self, kind: str) -> list[ProgramChange]:
        return [change for change in self.changes if change.kind == kind]

    @property
    def removed(self) -> list[ProgramChange]:
        return self._of("removed")

    @property
    def added(self) -> list[ProgramChange]:
        return self._of("added")

    @property
    def moved(self) -> list[ProgramChange]:
        return self._of("moved")

    @property
    def changed(self) -> list[ProgramChange]:
        return self._of("changed")

    @property
    def renamed(self) -> list[ProgramChange]:
        return self._of("renamed")

    @cached_property
    def _listing(self) -> Listing:
        return Listing(self, self.changes)

    def semantic(
        self,
        *,
        runs: int = 3,
        seed: int = 0,
        backend: str = "auto",
        entry: str | None = None,
        launch: LaunchDescription | Mapping[str, LaunchDescription] | None = None,
    ) -> SemanticDifference:
        """What the programs compute differently: their kernels, or the one named `entry`, run on the same arguments.

        A `launch` may be given for all of them, or by their names; random arguments of it differ from run to run.  For
        others arguments are random and found by trying.  Runs go on until one comes out differently.
        """
        # Imported here: a comparison without runs needs no NumPy.  The error of the first import names what to install.
        from tileir.execute.launching import kernel as _  # noqa: F401

        if not isinstance(runs, int) or runs < 1:
            raise OptionError(f"runs is {runs!r}: pass how often to run, 1 or more")
        from tileir.analyze.difference.semantic import SemanticDifference, kernels_of, run_both

        found = []
        for left, right in kernels_of(self, entry):
            words = launch.get(left.symbol_name or "") if isinstance(launch, Mapping) else launch
            found.append(run_both(self, left, right, words, backend, runs, seed))
        return SemanticDifference(self, self._listing, found)

    def summary(self) -> str:
        """One sentence."""
        return summary_of(self.changes)

    def side_by_side(self, width: int | None = None, color: bool = False, context: int | None = 3) -> str:
        """Both programs beside each other where they are different, with so many rows around (None: all of both).

        `width` is that of the terminal unless it is given.
        """
        if width is None:
            width = shutil.get_terminal_size((120, 24)).columns
        return side_by_side(self._listing, self.titles, width, color, context)

    def unified(self, color: bool = False, context: int | None = 3) -> str:
        """The form that `diff -u` writes."""
        return unified(self._listing, self.titles, color, context)

    def __str__(self) -> str:
        return self.unified()

    def _repr_html_(self) -> str:
        return notebook.report(self.summary(), [self.unified()])

    def to_dict(self) -> dict[str, Any]:
        """All changes as JSON takes them; lines are those of the printed programs, counted from 1."""
        return {
            "same": not self.changes,
            "summary": self.summary(),
            "counts": {kind: sum([change.count for change in self._of(kind)]) for kind in get_args(Kind)},
            "changes": [
                {
                    "kind": change.kind,
                    "operation": change.operation.name,
                    "left": self._listing.place(change.left),
                    "right": self._listing.place(change.right),
                    "where": change.where,
                    "count": change.count,
                    "details": [detail._asdict() for detail in change.details],
                }
                for change in self.changes
            ],
        }


def diff(
    a: Operation | str | bytes | os.PathLike[str],
    b: Operation | str | bytes | os.PathLike[str],
    *,
    ignore_names: bool = False,
    locations: bool = False,
) -> ProgramDifference:
    """What is different about two programs: modules, or what `tileir.load` takes, text and bytecode in any mix.

    Operations are matched by what they are computed from and used for, functions by name; so an operation that stands
    elsewhere is moved, and one with other types, attributes or operands is changed.  With `ignore_names`, names
    of functions and values do not count; with `locations`, stated locations do.

    >>> print(tileir.diff(module, "examples/matmul.mlir").summary())
    entry @matmul added; entry @vector_add removed
    """
    titles = _title(a, 0), _title(b, 1)
    return ProgramDifference(_program(a), _program(b), names=not ignore_names, locations=locations, titles=titles)


def _program(given: object) -> Operation:
    if isinstance(given, Operation):
        if not given.regions:
            raise OptionError(f"diff takes modules, not an operation '{given.name}'")
        return given
    if isinstance(given, (str, bytes, os.PathLike)):
        return load(given)
    raise OptionError(f"diff takes modules, paths or bytes, not {type_text(given)}")


def _title(given: object, number: int) -> str:
    if isinstance(given, os.PathLike) or (isinstance(given, str) and "\n" not in given):
        return os.fspath(given)
    return _TITLES[number]
