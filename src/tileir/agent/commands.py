"""The tools: each makes a command line of `tileir` from text, and answers with what that prints.

The docstring of a tool is its description in the protocol: what it does, then what it takes.  `source` is always a
program as text: a Python script that launches kernels of cuTile or Triton, a Tile IR program, or a CUDA Tile C++ file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal

from tileir.agent.answers import Answer, Pages
from tileir.agent.search import Section, search, sections_of
from tileir.agent.workers import EXIT_TIMED_OUT, CommandRequest, Workers
from tileir.forking import cached_property
from tileir.judging.inputs import IMPORTS

_CPP: Final = re.compile(r"\b__tile_global__\b")
_PYTHON: Final = re.compile(r"^\s*(?:import|from)\s+\w", re.MULTILINE)
_MOST_SECONDS: Final = 600.0
_MORE_SECONDS: Final = 10.0
_WRONG_CALL: Final = 2
_MOST_SOURCE: Final = 1 << 20

_NEXT: Final[dict[tuple[str, bool], str]] = {
    ("check", True): "No error. Call run, then sanitize.",
    ("check", False): "Replace the lines that help shows, or correct that of the first error, and call check again.",
    ("lint", True): "No advice. Call cost to see what limits the speed.",
    ("lint", False): "Apply a help line and call lint again, or go on to cost.",
    ("run", True): "Compare the printed values with what you expect, then call sanitize.",
    ("run", False): "Replace the lines that help shows, or correct that of the error, and call run again.",
    ("sanitize", True): "No race and no access outside of an array in this launch. Try sizes that tiles do not divide.",
    ("sanitize", False): "Replace the lines that help shows, or call debug at the line, and call sanitize again.",
    ("debug", True): "Compare the values with what you expect. Correct the first line that computes a wrong one.",
    ("debug", False): "Correct the command that failed. The command `help` lists all.",
    ("cost", True): "Reduce what the estimate names as the limit, by the advice where there is some. Call cost again.",
    ("cost", False): "Correct the error and call cost again.",
    ("prove", True): "All is proved, or unknown: state what an unknown names by `assume`.",
    ("prove", False): "Correct what the finding names, or state by `assume` or `grid` why such a launch cannot be.",
    ("judge", True): "The candidate is accepted: report the score.",
    ("judge", False): "Correct what the first check that failed names: sanitize and debug show where. Judge again.",
    ("diff", True): "The programs agree.",
    ("diff", False): "Look at the first difference: debug shows values at its line.",
    ("reduce", True): "Correct the small program first: the cause is in it.",
    ("reduce", False): "State a message that the program really prints, or backends that really differ.",
    ("explain", True): "Use the syntax as shown, then call check.",
    ("explain", False): "Call search with a few words about what you look for.",
}


class Tools:
    """The tools of one server, with the workers that carry out their commands."""

    def __init__(
        self, workers: Workers, directory: str, pages: dict[str, str], seconds: float = 60.0, memory: int = 4 << 30
    ) -> None:
        """`directory` has the pages of the documentation; `seconds` and `memory` limit each command."""
        self._workers: Final = workers
        self._directory: Final = directory
        self._documents: Final = pages
        self._seconds: Final = seconds
        self._memory: Final = memory
        self._pages: Final = Pages()

    def all(self) -> list[Callable[..., Answer]]:
        """Every tool, in the order in which an agent reads about them."""
        return [
            self.check,
            self.run,
            self.sanitize,
            self.debug,
            self.prove,
            self.lint,
            self.cost,
            self.judge,
            self.diff,
            self.reduce,
            self.explain,
            self.search,
            self.page,
        ]

    def check(self, source: str) -> Answer:
        """Report every error of a program at its line, without running its kernels on arrays.

        A Python script is run until its kernels are compiled, so keep its arrays small.
        """
        return self._command("check", ["check", "-j", "1"], source)

    def run(self, source: str, grid: str = "", args: Sequence[str] = (), seconds: float = 0.0) -> Answer:
        """Run a program without a GPU and print what it prints, or what its kernel wrote.

        A Python script is run as it is: print what you want to see. Of a Tile IR program, `grid` is "8" or "4,2" and
        `args` has one text for each parameter: zeros:f32:1024, ones:f16:64x64, iota:i32:100, rand:f32:64x64:SEED,
        values:i32:3,1,4 or a number.
        """
        return self._launch("run", [], source, grid, args, seconds)

    def sanitize(self, source: str, grid: str = "", args: Sequence[str] = (), seconds: float = 0.0) -> Answer:
        """Run a program and report races, accesses outside of arrays, and elements that are never written.

        Takes what `run` takes. A finding has the line, the array, the indices, and often a help line.
        """
        return self._launch("sanitize", ["--sanitize=all"], source, grid, args, seconds)

    def debug(
        self,
        source: str,
        line: int = 0,
        commands: Sequence[str] = (),
        grid: str = "",
        args: Sequence[str] = (),
    ) -> Answer:
        """Stop in a kernel and print values.

        `line` stops at this line of `source` and prints all variables. `commands` are those of gdb, carried out one
        after the other: "break 14 if block == 3", "run" (of a script, "continue"), "print x[0:4]", "info locals",
        "next", "reverse-next", "watch out[7]", "catch sanitizer". `grid` and `args` are those of `run`.
        """
        go = "continue" if _language(source) == "py" else "run"
        chosen = [*([f"break {line}", go, "info locals"] if line else []), *commands] or [go, "info locals"]
        words = [word for command in chosen for word in ("-ex", command)]
        return self._command("debug", ["debug", "-batch", *words, *_launching(grid, args)], source)

    def prove(self, source: str, assume: Sequence[str] = (), grid: str = "") -> Answer:
        """Prove for every launch: no access outside of arrays, no race, every output written, every loop ends.

        What is not proved is refuted by a launch that was run, or unknown with the reason. `assume` has conditions such
        as "n > 0" and "a.size == n", `grid` the rule of the launch: "cdiv(n, 128)".
        """
        stated = [word for each in assume for word in ("--assume", each)]
        return self._command("prove", ["prove", "-j", "1", *stated, *_option("--grid", grid)], source)

    def lint(self, source: str, target: str = "") -> Answer:
        """Give advice about a correct program: what is useless, slow or doubtful. `target` is a GPU, as h100."""
        return self._command("lint", ["lint", "-j", "1", *_option("--target", target)], source)

    def cost(self, source: str, target: str = "h200", grid: str = "", args: Sequence[str] = ()) -> Answer:
        """Estimate what each launch costs on a GPU (h100, h200, b200, sm_90, ..), what limits it, why, and advice."""
        # Scripts may start no assembler.
        words = ["cost", "--no-assembler", "--target", target, *_launching(grid, args)]
        answer = self._command("cost", words, source)
        advice = self.lint(source, target) if answer.status == 0 else answer
        if advice.status == 1 and advice is not answer:
            return self._pages.answer(0, f"{answer.text}\n\nadvice\n\n{advice.text}", answer.next)
        return answer

    def judge(self, reference: str, candidate: str, task: str = "{}") -> Answer:
        """Judge a candidate for a task: accepted or not, why, a score from 0 to 1, and what was checked.

        `reference` is the text of reference.py: a function `inputs` that makes arrays of a seed, and `reference`, which
        returns what is expected for them. `task` is that of task.json, `candidate` that of a module with kernels.
        Inputs are drawn anew in each call.
        """
        in_task = {"reference.py": reference, "task.json": task}
        files = {f"task/{name}": text for name, text in in_task.items()} | {"candidate.py": candidate}
        limits = ["--timeout", f"{self._seconds:g}", "--memory-limit", f"{self._memory >> 20}M"]
        return self._carried_out("judge", ["judge", *limits, "task", "candidate.py"], files)

    def diff(self, before: str, after: str, semantic: bool = False) -> Answer:
        """Show what is different about two programs; `semantic` runs both and compares what they compute."""
        words = ["diff", *(["--semantic"] if semantic else ["--unified"])]
        return self._command("diff", words, before, after)

    def reduce(self, source: str, message: str = "", differs: str = "", seconds: float = 0.0) -> Answer:
        """Make a Tile IR program smaller while it stays wrong in the same way.

        State either `message`, a text that the check of the program prints, or `differs`, two backends whose results
        differ: "interpreter,cpu".
        """
        words = ["reduce", "-q"]
        if bool(message) == bool(differs):
            return _wrong("state either message or differs", "Call reduce again with one of them.")
        if _language(source) == "py":
            return _wrong("reduce takes a Tile IR program, not a script", "Reduce the kernel by hand, and call check.")
        words += ["--allow-invalid", "--message", message] if message else ["--differs", "--backend", differs]
        return self._command("reduce", words, source, seconds=seconds)

    def explain(self, name: str) -> Answer:
        """Describe an operation, type, attribute, opcode or lint rule of Tile IR: mmaf, tile<4x8xf32>, 0x49."""
        return self._carried_out("explain", ["explain", "--", name], {})

    def search(self, query: str) -> Answer:
        """Search in the documentation of tileir; the best sections, whole where they are short."""
        found = search(query, self._sections)
        if not found:
            return Answer(1, "Nothing fits.", "Use other words: names of operations, commands or messages.")
        texts = [f"## {section.name}\n\n{section.text}" for section in found]
        return self._pages.answer(0, "\n\n".join(texts), "Follow the section that fits, or search with other words.")

    def page(self, name: str) -> Answer:
        """The next page of a long answer: `name` is what the answer has in `more`."""
        return self._pages.page(name)

    @cached_property
    def _sections(self) -> list[Section]:
        return sections_of(self._directory, self._documents)

    def _launch(
        self, tool: str, words: list[str], source: str, grid: str, args: Sequence[str], seconds: float
    ) -> Answer:
        command = ["emulate", *words] if _language(source) == "py" else ["run", *words, *_launching(grid, args)]
        return self._command(tool, command, source, seconds=seconds)

    def _command(self, tool: str, words: list[str], *sources: str, seconds: float = 0.0) -> Answer:
        names = ["program", "other"]
        files = {f"{name}.{_language(source)}": source for name, source in zip(names, sources, strict=False)}
        return self._carried_out(tool, [*words, *files], files, seconds=seconds)

    def _carried_out(self, tool: str, words: list[str], files: dict[str, str], *, seconds: float = 0.0) -> Answer:
        if sum(map(len, files.values())) > _MOST_SOURCE:
            return _wrong(f"a program has at most {_MOST_SOURCE:,} characters", "Send a smaller program.")
        imports = tuple(sorted({name.decode() for text in files.values() for name in IMPORTS.findall(text.encode())}))
        is_data = not any(name.endswith(".py") for name in files)
        limit = min(seconds if seconds > 0 else self._seconds, _MOST_SECONDS)
        confines = tool == "judge"
        if confines:
            # `judge` enforces the limit itself and reports it in its answer.
            limit += _MORE_SECONDS
        request = CommandRequest(tuple(words), files, limit, self._memory, imports, is_data, confines)
        output = self._workers.run(request)
        if output.status == EXIT_TIMED_OUT:
            following = "Use smaller arrays or a smaller grid, or state more seconds."
        elif confines and output.status == _WRONG_CALL:
            following = "Correct the task: call search with 'judge task reference inputs'."
        else:
            following = _NEXT[tool, output.status == 0]
        return self._pages.answer(output.status, output.text, following)


def _wrong(message: str, following: str) -> Answer:
    return Answer(2, f"error: {message}", following)


def _language(source: str) -> Literal["py", "mlir", "cu"]:
    """How the file of a program is named."""
    if _CPP.search(source):
        return "cu"
    return "py" if _PYTHON.search(source) else "mlir"


def _option(name: str, value: str) -> list[str]:
    return [name, value] if value else []


def _launching(grid: str, args: Sequence[str]) -> list[str]:
    return [*_option("--grid", grid), *[word for each in args for word in ("--arg", each)]]
