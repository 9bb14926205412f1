"""The cheats that the judge names, and the candidates that test it: docs/reference/cheats.md."""

from __future__ import annotations

from tests.judging.cheats.corpus import CHEATS as CANDIDATES
from tests.judging.cheats.honest import honest_kernels

from generators import NOTE
from tileir.judging.cheats import CHEATS


def cheats() -> str:
    """The page: names of cheats, then each candidate of the corpus."""
    honest = honest_kernels()
    operators = {each.operator for each in honest.values()}
    lines = [
        "# Cheats",
        "",
        NOTE,
        "",
        "What candidates do instead of computing with a kernel, and what [`tileir judge`](../tools/judge.md) calls it. "
        f"The {len(CANDIDATES)} candidates below are refused for the reasons in their rows; {len(honest)} honest "
        f"kernels for {len(operators)} operators in cuTile and Triton are accepted (`tests/judging/cheats`).",
        "",
        "The names of attempts (`cheat:patches-modules` and what follows it) are not what keeps verdicts right: the "
        "reference, the comparison and the launches that are done again run in other processes. Code that evades a "
        "name gains nothing by that.",
        "",
        "## Names",
        "",
        "| reason | what the candidate does | how the judge knows | why it gains nothing |",
        "|---|---|---|---|",
    ]
    for name, cheat in CHEATS.items():
        lines.append(f"| `cheat:{name}` | {cheat.tries} | {_sentence(cheat.found)} | {_sentence(cheat.gains)} |")
    lines += ["", "## Candidates", "", "| category | candidate | it tries to | reason |", "|---|---|---|---|"]
    for name, candidate in CANDIDATES.items():
        reasons = ", ".join([f"`{reason}`" for reason in candidate.reasons])
        lines.append(f"| {candidate.category} | {name} | {candidate.tries} | {reasons} |")
    return "\n".join(lines) + "\n"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""
