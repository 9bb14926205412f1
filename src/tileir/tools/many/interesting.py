"""What `tileir reduce` looks for: a command, or one of the questions that are ready-made."""

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
    ask_engine,
    ask_passes,
    is_crash,
    kind_of_crash,
    same_difference,
    shell_words,
    succeeds,
)
from tileir.analyze.reducing.program import Program, ProgramFile
from tileir.analyze.reducing.search import Test
from tileir.execute.arguments.argument_text import LaunchWords
from tileir.ir.quoting import harmless
from tileir.tools.arguments import Arguments, ToolFailure
from tileir.tools.command import refusing

ASSEMBLER = "tileiras"
WAYS = ("interesting", "crashes", "differs", "message")


class Interest(NamedTuple):
    """What is interesting."""

    programs: Test[Program]
    contents: Test[bytes] | None
    """A test of the contents of files, if there is one."""
    about: str
    why_not: Callable[[], str]
    """The result for the original, where that is not interesting."""


def check_ways(given: Arguments) -> None:
    """Refuse a command line that does not say what is interesting, or says it twice."""
    if given.has("passes"):
        from tileir.passes.pipeline import check_steps
        from tileir.passes.registry import parse_passes

        with refusing():
            check_steps(parse_passes(given.value("passes")))
    ways = [way for way in WAYS if given.has(way)]
    if len(ways) != 1 and ways != ["crashes", "message"] and (ways or not given.has("passes")):
        words = " or ".join([f"--{way}" for way in WAYS])
        raise ToolFailure(f"say what is interesting with one of {words}")


def needs_launch(given: Arguments) -> bool:
    """Whether the kernel is to be launched."""
    return given.has("differs") or given.has("backend") or given.value("crashes", ASSEMBLER) != ASSEMBLER


def interest_of(
    given: Arguments, form: ProgramFile, original: Program | None, launch: LaunchWords | None, timeout: float
) -> Interest:
    """What a command line says is interesting."""
    if given.has("interesting"):
        return _command(given, form, timeout)
    message = given.options.get("message")
    if given.value("crashes") == ASSEMBLER:
        return _assembler(given, message, timeout)
    if given.has("differs"):
        first, second = engines_of(given.value("differs"))
        assert launch is not None
        about, missed = f"differs {first} {second}", f"{first} and {second} give the same results"
        return _observed(ask_difference(first, second, launch), original, about, missed, timeout, same_difference)
    engine = given.value("backend", given.value("crashes"))
    if engine:
        assert launch is not None
        _present(engine)
        question, about = ask_engine(engine, launch), f"engine {engine}"
    elif given.has("passes"):
        question, about = ask_passes(given.value("passes")), f"passes {given.value('passes')}"
    elif message is not None:
        question, about = ask_check, "check"
    else:
        raise ToolFailure("say what crashes: '--crashes tileiras' or the name of an engine")
    if message is None:
        return _observed(question, original, f"{about} crashes", "nothing crashes", timeout, _same_crash)
    subject = "a check does not say" if about == "check" else "what is said does not have"
    missed = f"{subject} '{harmless(message)}'"
    found = _observed(question, original, f"{about} says {message}", missed, timeout, lambda each, _: message in each)
    if about != "check":
        return found
    return found._replace(contents=ObservationTest(ask_contents, lambda answer: message in answer, timeout))


def _same_crash(answer: str, first: str) -> bool:
    return is_crash(first) and kind_of_crash(answer) == kind_of_crash(first)


def engines_of(text: str) -> tuple[str, str]:
    """The two engines of `--differs`, which are there."""
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise ToolFailure(f"'{text}' names no two engines: '--differs interpreter cpu'")
    for name in names:
        _present(name)
    return names[0], names[1]


def _present(engine: str) -> None:
    """An engine that is not there is a mistake of the command line."""
    from tileir.execute.engine.registry import find_engine, require

    with refusing():
        require(find_engine(engine))


def _observed(
    question: Question[Program],
    original: Program | None,
    about: str,
    missed: str,
    timeout: float,
    same: Callable[[str, str], bool],
) -> Interest:
    """A test that wants of a candidate what it sees of the original; `missed` says what is wrong if it sees nothing."""
    first = ""
    test: ObservationTest[Program] = ObservationTest(question, lambda answer: same(answer, first), timeout)
    if original is not None:
        first = test.observe(original)
    return Interest(test, None, about, lambda: missed if first == FINE else f"{missed}: {harmless(first)}")


def _command(given: Arguments, form: ProgramFile, timeout: float) -> Interest:
    line = given.value("interesting")
    try:
        words = shell_words(line) if given.has("shell") else shlex.split(line)
    except ValueError as error:
        raise ToolFailure(f"'{line}' is no command line: {error}") from None
    if not words or not line.strip():
        raise ToolFailure("the command of '--interesting' is empty")
    return _tested(words, timeout, form, succeeds)


def _assembler(given: Arguments, message: str | None, timeout: float) -> Interest:
    """NVIDIA's assembler crashes, takes too long, or says something."""
    from tileir.execute.gpu.targets import target_named
    from tileir.execute.gpu.tileiras.tool import find_assembler

    tool = find_assembler()
    target = target_named(given.value("target", "sm_90"))
    words = [tool.path, f"--gpu-name={target}", "{}", "-o", "/dev/null"]
    # It takes bytecode, whatever the file is.
    form = ProgramFile(tool.bytecode_version)

    def judge(ended: Ended) -> bool:
        if message is not None:
            return message in ended.output
        return bool(ended.status.reason) or ended.status.code < 0

    return _tested(words, timeout, form, judge)


def _tested(words: list[str], timeout: float, form: ProgramFile, judge: Callable[[Ended], bool]) -> Interest:
    ends: list[Ended] = []

    def kept(ended: Ended) -> bool:
        if not ends:
            ends.append(ended)
        return judge(ended)

    def why_not() -> str:
        if not ends:
            return "it cannot be written as bytecode of the version"
        shown = " ".join([shlex.quote(word) for word in words])
        lines = [f"the command {ends[0].status.message}", f"  command: {harmless(shown)}"]
        printed = ends[0].output.rstrip()
        lines.append("  it printed:" if printed else "  it printed nothing")
        lines += ["    " + harmless(line) for line in printed.splitlines()[-20:]]
        return "\n".join(lines)

    programs: CommandTest[Program] = CommandTest(words, timeout, form.extension, form.data, kept)
    contents: CommandTest[bytes] = CommandTest(words, timeout, form.extension, bytes, kept)
    return Interest(programs, contents, " ".join(words), why_not)
