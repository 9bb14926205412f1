"""Proofs about a kernel for every launch that its contract allows, without running it.  Read in this order:

records        what is asked, claimed and answered; needs nothing else of the package
terms          exact integer and Boolean expressions in a canonical form
element_rules  how the element of a result follows from elements of the operands
elements       one element of a value, as a term
walking        the operations of a kernel, with the loops around them and the conditions on their path
memory         accesses: which element of which array, where
stated         assumptions as people write them
inference      what the accesses of a kernel say about its launches
contract       the launches that a proof is about
token_paths    whether tokens order two accesses on every path
solving        terms given to z3; the only module that imports it
context        what the questions share
bounds         the question "bounds"
questions      all claims about a kernel
confirming     proposed launches, run under the sanitizer: what they find refutes a claim
launch_rules   the grid and the names of parameters, as a script writes them
report         the answers, as text, JSON and diagnostics
prover         all of it: `tileir.prove`, which is this package once a part of it is imported

Whether two programs compute the same is another question, with terms of its own: `equivalence/`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    """A package with the name of a public function: it is called as that is."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        from tileir.prove.prover import prove

        return prove(*args, **options)

    @property
    def __signature__(self) -> Any:
        from inspect import signature

        from tileir.prove.prover import prove

        return signature(prove)


sys.modules[__name__].__class__ = _Package
