"""`prove`: what holds for every launch of a kernel, what fails in one that was run, and what is unknown."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Final

from tileir.bridge.compiling import compile
from tileir.bridge.kernel_kinds import is_cutile_kernel, is_triton_kernel
from tileir.bridge.specialized import SpecializedKernel
from tileir.execute.arguments.binding import Pointer
from tileir.execute.errors import LaunchError, MissingDependencyError
from tileir.execute.launching.entries import select_entry
from tileir.execute.launching.kernel import Kernel
from tileir.execute.locations.wording import script_name
from tileir.interface import load, names_given, verify
from tileir.ir.core import Operation
from tileir.ir.diagnostics import OptionError
from tileir.ir.quoting import type_text
from tileir.ir.traversal import ancestors
from tileir.proofs.confirming import Confirmation, Confirmer
from tileir.proofs.contract.contract import contract_of
from tileir.proofs.contract.launch_rules import parameter_names
from tileir.proofs.questions.questions import claims
from tileir.proofs.records import QUESTIONS, Assumption, Claim
from tileir.proofs.report import Answer, Proof

SECONDS: Final = 30.0
"""The time limit for a kernel."""
_GUESSED: Final = "how many elements its array has is not known: state it, as --assume 'x.size == n'"
_MOST_SETTLED: Final = 2
"""At most so many claims of an unknown question are tried with assumptions that may settle them."""
_SETTLING: Final = 4.0
"""Seconds for that."""
_SHARE: Final = 0.7
"""Of the time, for proofs; the rest is for launches."""


def prove(
    kernel: Kernel | SpecializedKernel | Operation | str | os.PathLike[str] | bytes | Any,
    args: Sequence[object] | None = None,
    *,
    entry: str | None = None,
    assume: str | Sequence[str] = (),
    grid: str | Sequence[str] | None = None,
    timeout: float = SECONDS,
) -> Proof:
    """Prove that every launch of a kernel stays within its arrays, has no races, writes all of its output, and more, or
    find a launch that does not (docs/tools/prove.md).

    The kernel is a module, the path or the bytes of a file, one that `tileir.compile` made, or a kernel of cuTile or
    Triton with example `args`; `entry` names one of several in a module.  `assume` states what launches have in common,
    as "n > 0", and `grid` their grid, as "cdiv(n, 128)", or one such text for each axis.  Without a grid one is
    inferred; `proof.contract` has all that the proof relies on.  Each question ends as "proved", "refuted" or
    "unknown".  A refutation is a launch that was run, in a process of its own: `proof["race"].launch`.

    >>> tileir.prove("examples/vector_add.mlir")["bounds"].verdict
    'proved'
    """
    if not isinstance(timeout, (int, float)) or not timeout > 0:
        raise LaunchError(f"timeout is a number of seconds above 0, not {timeout!r}"[:100])
    stated = names_given("assume", assume)
    axes = None if grid is None else grid_axes(grid) if isinstance(grid, str) else names_given("grid", grid)
    found, names = _kernel_of(kernel, args, entry)
    return prove_entry(found, stated, axes, timeout, names=names)


def _kernel_of(kernel: Any, args: Sequence[object] | None, entry: str | None) -> tuple[Operation, list[str]]:
    """The entry, and the names of its parameters if they are those of a script."""
    if isinstance(kernel, Operation):
        verify(kernel)
        return select_entry(kernel, entry), []
    if isinstance(kernel, (str, os.PathLike, bytes, bytearray, memoryview)):
        return select_entry(load(kernel), entry), []
    names: list[str] = []
    if is_cutile_kernel(kernel) or is_triton_kernel(kernel):
        has_extents = is_cutile_kernel(kernel)
        kernel = compile(kernel, () if args is None else args)
        given = kernel.values(() if args is None else tuple(args))
        arrays = [
            (script_name(each.name), getattr(each.array, "ndim", 0)) if isinstance(each, Pointer) else None
            for each in given
        ]
        names = parameter_names(arrays, has_extents)
    if isinstance(kernel, SpecializedKernel):
        kernel = kernel.kernel
    if isinstance(kernel, Kernel):
        return kernel.entry, names
    known = "pass a kernel, a module, a file, or a kernel of cuTile or Triton"
    raise TypeError(f"nothing can be proved about {type_text(kernel)}: {known}")


def need_solver() -> None:
    """Raise an error that states what to install where the solver is missing."""
    if find_spec("z3") is None:
        raise MissingDependencyError("proofs need the solver Z3: pip install 'tileir[prove]'")


def grid_axes(text: str) -> list[str]:
    """The expressions of a grid, which have commas between them, as in `cdiv(m, 64), cdiv(n, 64)`."""
    axes, depth = [""], 0
    for each in text.strip():
        depth += (each in "([") - (each in ")]")
        if each == "," and not depth:
            axes.append("")
        else:
            axes[-1] += each
    axes = [axis.strip() for axis in axes]
    if not all(axes) or len(axes) > 3 or depth:
        raise OptionError(f"'{text}' is no grid: give one to three expressions, as in 'cdiv(n, 128)'")
    return axes


def prove_entry(
    entry: Operation,
    assume: Sequence[str] = (),
    grid: Sequence[str] | None = None,
    seconds: float = SECONDS,
    *,
    names: Sequence[str] = (),
    script_grid: Sequence[str] | None = None,
) -> Proof:
    """The same for an entry of a verified module.

    `names` are those that its parameters have in the script that it is from, and `script_grid` is the rule of its grid
    there, for lack of another one.
    """
    need_solver()
    begin = time.monotonic()
    module = [entry, *ancestors(entry)][-1]
    stated = [_numbered(text, names) for text in assume]
    axes = grid if grid is not None else script_grid
    extents = [text for text in _extents(names) if not any(_shared(text, other) for other in stated)]
    contract = contract_of(
        module, entry, [*stated, *extents], None if axes is None else [_numbered(text, names) for text in axes]
    )
    found = claims(module, entry, contract, seconds * _SHARE)
    is_of_script = grid is None and script_grid is not None
    assumptions = [
        Assumption(
            _named(each.text, names),
            "inferred"
            if each.text in extents
            else "script"
            if is_of_script and each.source == "stated" and each.text not in stated
            else each.source,
        )
        for each in contract.assumptions
    ]
    for claim in found:
        claim.reason, claim.settled_by = _named(claim.reason, names), _named(claim.settled_by, names)
    proof = Proof(entry.symbol_name or "", tuple(assumptions))
    guessed = {access.operation for access in contract.accesses if access.array in contract.guessed}
    for claim in found:
        if claim.question == "coverage" and claim.verdict == "refutable" and claim.operation in guessed:
            claim.verdict, claim.reason = "unknown", _GUESSED
    confirmer = Confirmer(entry)
    until = begin + 0.9 * seconds
    for number, question in enumerate(QUESTIONS):
        about = [claim for claim in found if claim.question == question]
        # What one question leaves is for the others.
        left = max(until - time.monotonic(), 0.0) / (len(QUESTIONS) - number)
        answer = proof.answers[question] = _answer(question, about, confirmer, time.monotonic() + left)
        answer.names = names
    _settle(proof, begin + seconds, names)
    proof.seconds = time.monotonic() - begin
    return proof


def _extents(names: Sequence[str]) -> list[str]:
    """That no array of a script is empty."""
    return [f"arg{number} >= 1" for number, name in enumerate(names) if _EXTENT.search(name)]


def _shared(text: str, other: str) -> bool:
    """Whether what is stated is about the same parameter."""
    return bool({*_ARGUMENT.findall(text)[:1]} & {*_ARGUMENT.findall(other)})


_EXTENT: Final = re.compile(r"\.shape\[\d+\]$")
_ARGUMENT: Final = re.compile(r"\barg(\d+)\b")


def _named(text: str, names: Sequence[str]) -> str:
    """A text with the script's names of parameters, which are numbered otherwise: `arg1` is `x.shape[0]`."""
    return _ARGUMENT.sub(lambda found: names[int(found[1])] if int(found[1]) < len(names) else found[0], text)


def _numbered(text: str, names: Sequence[str]) -> str:
    """The other way round."""
    numbers = {name: f"arg{number}" for number, name in enumerate(names)}
    words = "|".join([re.escape(name) for name in sorted(names, key=len, reverse=True)])
    return re.sub(rf"(?<![\w.])(?:{words})(?!\w)", lambda found: numbers[found[0]], text) if names else text


def _settle(proof: Proof, until: float, names: Sequence[str]) -> None:
    """Look for the assumptions that are missing: first those that exclude what refutes a question."""
    open_claims = [answer.refuting for answer in proof.refuted]
    for answer in proof.answers.values():
        open_claims += [claim for claim in answer.claims if claim.verdict == "unknown"][:_MOST_SETTLED]
    until = min(until, time.monotonic() + _SETTLING)
    for claim in open_claims:
        if claim is not None and not claim.settled_by and time.monotonic() < until:
            claim.settled_by = _named(claim.settle(), names)


def _answer(question: str, about: list[Claim], confirmer: Confirmer, deadline: float) -> Answer:
    answer = Answer(question, "proved", about)
    for claim in about:
        if claim.verdict != "refutable":
            continue
        result = confirmer.confirm(claim, deadline - time.monotonic())
        if isinstance(result, Confirmation):
            answer.verdict, answer.launch, answer.finding = "refuted", result.launch, result.finding
            answer.sanitize, answer.refuting = result.sanitize, claim
            return answer
        claim.verdict, claim.reason = "unknown", result
    if any(claim.verdict != "proved" for claim in about):
        answer.verdict = "unknown"
    return answer
