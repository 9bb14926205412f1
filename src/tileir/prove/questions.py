"""The questions about a kernel and what can be claimed about each, without running anything.

    for claim in claims(module, entry, contract, seconds): ...

Every access, pair of accesses, loop and operation that a question is about has a claim of its own.  The terms are
exact, so a claim that is proved holds also where integers wrap; whether they can is the question "overflow".
"""

from __future__ import annotations

from collections.abc import Iterator

from tileir.ir.core import Operation
from tileir.prove.bounds import bounds_claims
from tileir.prove.checks import check_claims
from tileir.prove.context import Context
from tileir.prove.contract import Contract
from tileir.prove.races import race_claims
from tileir.prove.records import Claim


def claims(module: Operation, entry: Operation, contract: Contract, seconds: float = 30.0) -> list[Claim]:
    """All claims about a kernel under its contract; what is not settled within `seconds` is unknown."""
    context = Context(contract, seconds)
    return list(_claims(context))


def _claims(context: Context) -> Iterator[Claim]:
    yield from bounds_claims(context)
    yield from race_claims(context)
    yield from check_claims(context)
