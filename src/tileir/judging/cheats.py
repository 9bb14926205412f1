"""What candidates do instead of computing with a kernel: the names that verdicts have for it, and how each is found.

A judged candidate that cheats has the reason `cheat:NAME`.  docs/reference/cheats.md is made from this table and from
the corpus of cheats of the tests.
"""

from __future__ import annotations

from typing import Final, NamedTuple

PREFIX: Final = "cheat:"


class Cheat(NamedTuple):
    """A way to cheat."""

    tries: str
    """What the candidate does."""
    found: str
    """How the judge knows."""
    gains: str = ""
    """Why it gains nothing, apart from being found."""


_EVENT: Final = "an audit event of Python, reported before the call is made"
_COMPARED: Final = "a comparison of modules, classes and handlers with those before the candidate was read"
_NOTHING: Final = "the reference runs in another process, and results are compared in a third"

CHEATS: Final[dict[str, Cheat]] = {
    "no-kernel": Cheat(
        "It computes with torch, NumPy or Python, and launches no kernel.",
        "no launch was recorded",
    ),
    "result-not-from-kernels": Cheat(
        "It launches a kernel, and returns what something else computed.",
        "the launches are done again in another process, and do not write what it returns",
    ),
    "host-computation": Cheat(
        "It computes outside of kernels, and has a kernel copy or finish the result.",
        "a kernel reads values that no input and no kernel before it holds, and that change with the inputs",
    ),
    "forged-launch": Cheat(
        "It reports launches that cannot be done again.",
        "the recorded launches are done again in another process",
    ),
    "specialized-kernel": Cheat(
        "It compiles results for the given inputs into the kernel.",
        "equal shapes with other values give a program with other constants",
    ),
    "replayed-result": Cheat(
        "It returns the right results of other inputs, or of an earlier call.",
        "the results are those of another set of inputs, or a repeated call launches nothing",
    ),
    "disguised-result": Cheat(
        "It returns an object that computes, or claims to be equal, when it is read.",
        "results must be plain arrays: their bytes are written to a file, and other processes read that",
    ),
    "forged-report": Cheat(
        "It writes a report of success instead of the judge.",
        "a report carries a number that only the judge's own frame knows",
    ),
    "early-exit": Cheat(
        "It ends the process with a status of success before it is compared.",
        "a process that ends without results has failed, whatever its status",
    ),
    "patches-modules": Cheat(
        "It replaces functions of torch, NumPy, the clock, cuTile, Triton or the judge.", _COMPARED, _NOTHING
    ),
    "reads-frames": Cheat("It looks for expected results or the judge's variables in frames.", _EVENT, _NOTHING),
    "searches-memory": Cheat("It looks for the reference or its results among all objects.", _EVENT, _NOTHING),
    "uses-files": Cheat(
        "It reads the judge's files, or leaves files for later runs.",
        _EVENT,
        "it can read only what is installed, and write only to a directory of its own",
    ),
    "uses-the-network": Cheat("It uses another machine.", _EVENT, "there is no network"),
    "starts-processes": Cheat("It starts a process that outlives or helps it.", _EVENT, "the system denies it"),
    "starts-threads": Cheat("It computes in a thread after the clock has stopped.", _EVENT),
    "sends-signals": Cheat("It sends or handles signals, or changes limits.", f"{_EVENT}; {_COMPARED}"),
    "runs-at-exit": Cheat("It changes files when the process ends.", _EVENT, "the process is ended without that"),
    "native-code": Cheat("It reads or writes memory by address, or calls libraries.", _EVENT),
    "traces-calls": Cheat("It watches or changes what the judge calls by a trace function.", _EVENT),
    "hides-code": Cheat("It runs code under the name of another file, or from pickles and code objects.", _EVENT),
    "waits": Cheat("It waits, to make others look slow or to end a measurement early.", _EVENT),
    "side-stream": Cheat("It launches in a stream that the clock does not see.", _COMPARED, "launches are timed apart"),
}


def cheat_cause(name: str) -> str:
    """The cause of a step that found a cheat: `cheat:NAME`."""
    return PREFIX + name


def cheat_of(cause: str) -> str:
    """The name of the cheat that a cause states; empty if it states none."""
    name = cause.removeprefix(PREFIX)
    return name if name != cause and name in CHEATS else ""
