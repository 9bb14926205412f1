"""The files of a comparison: programs, what the interpreter makes of them, their code, and what a GPU makes of them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.hardware.agreement import packing
from tests.hardware.agreement.assembling import Assembled, Assembly
from tests.hardware.agreement.interpreting import NotRunError, Outcome, interpret
from tests.hardware.agreement.packing import Pieces
from tests.hardware.agreement.program import Program
from tests.hardware.agreement.running import Result

PROGRAMS = "programs.pack"
EXPECTED = "expected.pack"
CODE = "code.pack"
RESULTS = "results.pack"


def interpreted(programs: Iterable[Program]) -> tuple[list[tuple[Program, Outcome]], list[tuple[Program, str]]]:
    """Programs with what the interpreter makes of them, and those that it does not run to their end."""
    made: list[tuple[Program, Outcome]] = []
    left_out: list[tuple[Program, str]] = []
    for program in programs:
        try:
            made.append((program, interpret(program, not program.details.get("unwatched"))))
        except NotRunError as error:
            left_out.append((program, str(error)))
    return made, left_out


def made(name: str, limit: int | None) -> tuple[list[tuple[Program, Outcome]], list[tuple[Program, str]], float]:
    """A family made and interpreted, and the seconds that took."""
    from tests.hardware.agreement.families import programs_of

    start = time.perf_counter()
    return *interpreted(programs_of(name, limit)), time.perf_counter() - start


def interpreted_again(programs: list[Program]) -> dict[int, Outcome]:
    """By the number of a program, what the interpreter makes of it now."""
    return {number: interpret(program, not program.details.get("unwatched")) for number, program in enumerate(programs)}


def write_built(directory: Path, made: list[tuple[Program, Outcome]]) -> int:
    """Write programs and what is expected of them; the size of the files."""
    size = packing.write_programs(directory / PROGRAMS, [program for program, _ in made])
    pieces = Pieces()
    index = [
        {
            "memories": [pieces.put(memory) for memory in outcome.memories],
            "unspecified": outcome.unspecified,
            "notes": outcome.notes,
        }
        for _, outcome in made
    ]
    return size + packing.write_pack(directory / EXPECTED, index, pieces)


def read_programs(directory: Path) -> list[Program]:
    return packing.read_programs(directory / PROGRAMS)


def read_expected(directory: Path) -> dict[int, Outcome]:
    index, pieces = packing.read_pack(directory / EXPECTED)
    return {
        number: Outcome([pieces[place] for place in each["memories"]], each["unspecified"], each["notes"])
        for number, each in enumerate(index)
    }


def write_assembly(directory: Path, assembly: Assembly) -> int:
    pieces = Pieces()
    files = []
    for file in assembly.files:
        names = [[pieces.put(text.encode()), name] for text, name in file.names.items()]
        files.append({"code": pieces.put(file.cubin), "names": names})
    refused = [[pieces.put(text.encode()), words] for text, words in assembly.refused.items()]
    return packing.write_pack(directory / CODE, {"files": files, "refused": refused}, pieces)


def read_assembly(directory: Path) -> Assembly:
    """The code; without any, every program stands in a file of its own, for a stand-in."""
    if not (directory / CODE).exists():
        return not_assembled(read_programs(directory))
    index, pieces = packing.read_pack(directory / CODE)
    files = [
        Assembled(pieces[file["code"]], {pieces[text].decode(): name for text, name in file["names"]})
        for file in index["files"]
    ]
    return Assembly(files, {pieces[text].decode(): words for text, words in index["refused"]})


def not_assembled(programs: Iterable[Program]) -> Assembly:
    """Every program in a file of its own, without code: it is compiled when it is run."""
    texts = dict.fromkeys([program.text for program in programs])
    return Assembly([Assembled(b"", {text: "k"}) for text in texts], {})


UNCHANGED, EXPECTED_TOO = -1, -2
"""In place of a memory: what it was before the launch, and what the interpreter makes of it."""


def write_results(out: Path, device: str, results: list[Result], directory: Path) -> int:
    """Write what was found; what the folder of the programs has is not written again."""
    programs = read_programs(directory)
    expected = read_expected(directory) if (directory / EXPECTED).exists() else {}
    pieces = Pieces()
    index: list[Any] = []
    for result in results:
        before = programs[result.number].memories
        wanted = expected[result.number].memories if result.number in expected else before
        places = []
        for number, memory in enumerate(result.memories):
            if memory == before[number]:
                places.append(UNCHANGED)
            elif memory == wanted[number]:
                places.append(EXPECTED_TOO)
            else:
                places.append(pieces.put(memory))
        index.append([result.number, places, result.trouble])
    return packing.write_pack(out / RESULTS, {"device": device, "results": index}, pieces)


def read_results(out: Path, directory: Path) -> tuple[str, dict[int, Result]]:
    index, pieces = packing.read_pack(out / RESULTS)
    programs, expected = read_programs(directory), read_expected(directory)

    def memory(program: int, number: int, place: int) -> bytes:
        if place == UNCHANGED:
            return programs[program].memories[number]
        return expected[program].memories[number] if place == EXPECTED_TOO else pieces[place]

    found = {}
    for number, places, trouble in index["results"]:
        memories = [memory(number, position, place) for position, place in enumerate(places)]
        found[number] = Result(number, memories, trouble)
    return index["device"], found
