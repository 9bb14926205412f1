"""What makes a candidate interesting: a command succeeds, or what is run crashes, differs or prints as the original."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import NamedTuple

from tileir.analyze.reducing.candidate_tests import (
    FINE,
    CommandTest,
    Ended,
    ObservationTest,
    Question,
    ask_check,
    ask_contents,
    ask_difference,
    is_crash,
    kind_of_crash,
    same_difference,
)
from tileir.analyze.reducing.program import Program, ProgramFile
from tileir.analyze.reducing.search import Test
from tileir.execute.arguments.argument_text import LaunchDescription
from tileir.ir.quoting import harmless


class Interest(NamedTuple):
    """What is interesting."""

    programs: Test[Program]
    contents: Test[bytes] | None
    """A test of the contents of files, if there is one."""
    about: str
    why_not: Callable[[], list[str]]
    """Why the original is not interesting: the reason, then notes."""


def command(words: list[str], timeout: float, form: ProgramFile, judge: Callable[[Ended], bool]) -> Interest:
    """A command that ends as `judge` accepts."""
    ends: list[Ended] = []

    def kept(ended: Ended) -> bool:
        if not ends:
            ends.append(ended)
        return judge(ended)

    def why_not() -> list[str]:
        if not ends:
            return ["it cannot be written as bytecode of the version"]
        shown = " ".join([shlex.quote(word) for word in words])
        printed = "\n  ".join([harmless(line) for line in ends[0].output.rstrip().splitlines()[-20:]])
        output = f"it printed:\n  {printed}" if printed else "it printed nothing"
        return [f"the command {ends[0].status.message}", f"command: {harmless(shown)}", output]

    programs: CommandTest[Program] = CommandTest(words, timeout, form.extension, form.data, kept)
    contents: CommandTest[bytes] = CommandTest(words, timeout, form.extension, bytes, kept)
    return Interest(programs, contents, " ".join(words), why_not)


def assembly(target: str, message: str | None, timeout: float) -> Interest:
    """NVIDIA's assembler crashes or takes too long, or prints a message."""
    from tileir.execute.gpu.tileiras.tool import find_assembler

    tool = find_assembler()

    def judge(ended: Ended) -> bool:
        if message is not None:
            return message in ended.output
        return bool(ended.status.reason) or ended.status.code < 0

    words = [tool.path, f"--gpu-name={target}", "{}", "-o", "/dev/null"]
    # It takes bytecode, whatever the file is.
    return command(words, timeout, ProgramFile(tool.bytecode_version), judge)


def answer(
    question: Question[Program], about: str, message: str | None, original: Program | None, timeout: float
) -> Interest:
    """What crashes as the original does, or prints a message."""
    if message is None:
        same = lambda text, first: is_crash(first) and kind_of_crash(text) == kind_of_crash(first)  # noqa: E731
        return _observed(question, f"{about} crashes", "nothing crashes", same, original, timeout)
    missed = f"what is printed does not have '{harmless(message)}'"
    same = lambda text, _: message in text  # noqa: E731
    return _observed(question, f"{about} prints {message}", missed, same, original, timeout)


def check(message: str, original: Program | None, timeout: float) -> Interest:
    """A program whose check prints a message."""
    missed = f"a check does not print '{harmless(message)}'"
    found = _observed(ask_check, f"check prints {message}", missed, lambda text, _: message in text, original, timeout)
    return found._replace(contents=ObservationTest(ask_contents, lambda text: message in text, timeout))


def difference(
    first: str, second: str, launch: LaunchDescription, original: Program | None, timeout: float
) -> Interest:
    """Two engines give different results, as for the original."""
    question, missed = ask_difference(first, second, launch), f"{first} and {second} give the same results"
    return _observed(question, f"differs {first} {second}", missed, same_difference, original, timeout)


def _observed(
    question: Question[Program],
    about: str,
    missed: str,
    same: Callable[[str, str], bool],
    original: Program | None,
    timeout: float,
) -> Interest:
    """What has the same answer as the original; `missed` is the error if the original has no such answer."""
    first = ""
    test: ObservationTest[Program] = ObservationTest(question, lambda text: same(text, first), timeout)
    if original is not None:
        first = test.observe(original)
    return Interest(test, None, about, lambda: [missed if first == FINE else f"{missed}: {harmless(first)}"])
