"""Triton's IR (TTIR) into `cuda_tile`.

The input is what Triton's frontend makes of a kernel, after its inliner and canonicalizer.
`translate` reads it as a program of undeclared operations, and builds a module from it, operation by
operation.  In reading order:

    generic_form the form of MLIR that is read; the installed Triton makes it of others
    translation  the state of a translation, the table of rules, `translate`
    types        types and attributes
    locations    lines and names in the user's code
    tokens       the order of memory operations
    origins      the arguments that pointers come from
    rules/       the rules, by the kind of operation
"""

from __future__ import annotations

from tileir.ir.core import Module
from tileir.ttir import rules
from tileir.ttir.generic_form import from_usual_form, is_in_usual_form
from tileir.ttir.locations import give_scopes
from tileir.ttir.tokens import MemoryOrder
from tileir.ttir.translation import TTIRError, translate

__all__ = ["TTIRError", "from_ttir", "rules", "translate"]


def from_ttir(text: str, *, memory_order: MemoryOrder = "program") -> Module:
    """The tile program for a module of Triton's IR, with an entry for each public function.

    `text` is in the generic form of MLIR or, where Triton is installed, as Triton prints it (`compiled.asm["ttir"]`).
    `memory_order` is "program", to run the result; "arguments", to run it on a GPU: accesses to arrays of different
    arguments are not ordered; or "barriers", for the sanitizer: only barriers order accesses, as among the threads of a
    GPU.  What has no counterpart in a tile program is a `TTIRError` with its line.

    >>> text = '''"builtin.module"() ({
    ...   "tt.func"() <{function_type = () -> (), sym_name = "nothing", sym_visibility = "public"}> ({
    ...     "tt.return"() : () -> ()
    ...   }) : () -> ()
    ... }) : () -> ()'''
    >>> tileir.compile(tileir.from_ttir(text)).name
    'nothing'
    """
    if is_in_usual_form(text):
        text = from_usual_form(text)
    module = translate(text, memory_order=memory_order)
    give_scopes(module)
    return module
