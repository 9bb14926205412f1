"""Line numbers through LLVM: written into LLVM IR as debug information, and found again in what LLVM makes of it.

Debug information does not change the code that LLVM makes.  It does change the text around it, so it is taken out again
and the rest compared with the text made without it; lines in which the two differ have no number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Final

# Above all numbers that the text has metadata under already.
_FIRST: Final = 100
_UNIT, _VERSION, _FILE, _TYPE, _NOTHING = range(_FIRST, _FIRST + 5)
_NEXT: Final = _FIRST + 5
_LOCATION: Final = re.compile(r"^!(\d+) = (?:distinct )?!DILocation\(line: (\d+)")
_ATTACHED: Final = re.compile(r",? !dbg !(\d+)")
_METADATA: Final = re.compile(r"!\d+")
_GROUP: Final = re.compile(r" #\d+")
_LINE: Final = re.compile(r"^\t\.loc\t\d+ (\d+)")
# The lines of assembly for debug information and stack frames, and empty ones.
_ABOUT: Final = re.compile(
    r"^\s*(?:\.(?:loc|file|cfi_\w+)\b|\.Ltmp\d+:|\.L(?:func_begin|func_end|cfi)\d+:|\.section\t\.debug)|^\s*$"
)
# For AArch64 a number begins with the same character as a comment for x86.
_COMMENT: Final = re.compile(r"\s*(?:##? |//).*$")
_MOST_COMPARED: Final = 4000
"""Lines in which two texts may differ and still be compared line by line, which takes time with their square."""


def with_line_numbers(text: str, numbers: Sequence[int]) -> str:
    """LLVM IR whose instructions have line numbers, given for each line of it; 0 is none."""
    lines = text.split("\n")
    metadata: list[str] = []
    places: dict[tuple[int, int], int] = {}
    scope = 0
    for number, line in enumerate(lines):
        if line.startswith("define ") and any(numbers[number : lines.index("}", number)]):
            scope = _NEXT + len(metadata)
            lines[number] = f"{line.removesuffix('{')}!dbg !{scope} {{"
            metadata.append(
                f'!{scope} = distinct !DISubprogram(name: "f{scope}", scope: !{_FILE}, file: !{_FILE}, '
                f"type: !{_TYPE}, unit: !{_UNIT}, spFlags: DISPFlagDefinition | DISPFlagOptimized)"
            )
        elif line == "}":
            scope = 0
        elif scope and line.startswith("  "):
            place = (numbers[number], scope)
            if place not in places:
                places[place] = _NEXT + len(metadata)
                metadata.append(f"!{places[place]} = !DILocation(line: {numbers[number]}, scope: !{scope})")
            lines[number] = f"{line}, !dbg !{places[place]}"
    return "\n".join([*lines, *_UNITS, *metadata, ""])


_UNITS: Final = (
    f"!llvm.dbg.cu = !{{!{_UNIT}}}",
    f"!llvm.module.flags = !{{!{_VERSION}}}",
    f"!{_UNIT} = distinct !DICompileUnit(language: DW_LANG_C, file: !{_FILE}, isOptimized: true, runtimeVersion: 0, "
    "emissionKind: DebugDirectivesOnly)",
    f'!{_VERSION} = !{{i32 2, !"Debug Info Version", i32 3}}',
    f'!{_FILE} = !DIFile(filename: "kernel", directory: "")',
    f"!{_TYPE} = !DISubroutineType(types: !{_NOTHING})",
    f"!{_NOTHING} = !{{}}",
)


def numbers_of_text(numbered: str, plain: str, given: str) -> list[int]:
    """The number of each line of optimized LLVM IR, by the text that was made with line numbers.
    An instruction that LLVM moved out of a loop has lost its number; its name in the `given` text finds it."""
    names = {(function, name): number for function, name, number, _ in _numbered_lines(given) if name.startswith("%")}
    found = [
        (_plain_text(line), number or names.get((function, name), 0))
        for function, name, number, line in _numbered_lines(numbered)
    ]
    return _matched(found, [_plain_text(line) for line in plain.split("\n")])


def _numbered_lines(text: str) -> Iterator[tuple[str, str, int, str]]:
    """For each line that is no metadata its function, the name of the result, and the line number; 0 for none."""
    lines = text.split("\n")
    known = {int(match[1]): int(match[2]) for match in map(_LOCATION.match, lines) if match is not None}
    function = ""
    for line in lines:
        if line.startswith("!"):
            continue
        if line.startswith("define "):
            function = line.partition("@")[2].partition("(")[0]
        attached = _ATTACHED.search(line) if line.startswith("  ") else None
        number = known.get(int(attached[1]), 0) if attached is not None else 0
        yield function, line.split(" = ", 1)[0].strip() if line.startswith("  ") else "", number, line


def _plain_text(line: str) -> str:
    """A line of LLVM IR without debug information, and without the numbers that metadata and attributes have."""
    if line.startswith("!"):
        return ""
    return _GROUP.sub("", _METADATA.sub("!", _ATTACHED.sub("", line)))


def numbers_of_assembly(numbered: str, plain: str) -> list[int]:
    """For each line of assembly its number, by the text that was made with line numbers."""
    found: list[tuple[str, int]] = []
    number = 0
    for line in numbered.split("\n"):
        match = _LINE.match(line)
        if match is not None:
            number = int(match[1])
        if _ABOUT.match(line):
            continue
        is_instruction = line.startswith("\t") and not line.startswith("\t.")
        found.append((_COMMENT.sub("", line), number if is_instruction else 0))
    lines = plain.split("\n")
    kept = [place for place, line in enumerate(lines) if not _ABOUT.match(line)]
    matched = _matched(found, [_COMMENT.sub("", lines[place]) for place in kept])
    numbers = [0] * len(lines)
    for place, each in zip(kept, matched, strict=True):
        numbers[place] = each
    return numbers


def _matched(found: list[tuple[str, int]], lines: list[str]) -> list[int]:
    """The numbers of lines that are among others which have one."""
    texts = [text for text, _ in found]
    numbers = [0] * len(lines)
    start = _agreeing(texts, lines)
    end = _agreeing(texts[start:][::-1], lines[start:][::-1])
    ours, theirs = lines[start : len(lines) - end], texts[start : len(texts) - end]
    blocks = [(0, 0, start), (len(texts) - end, len(lines) - end, end)]
    if ours and theirs and max(len(ours), len(theirs)) <= _MOST_COMPARED:
        matcher = SequenceMatcher(None, theirs, ours, autojunk=False)
        blocks += [(start + block.a, start + block.b, block.size) for block in matcher.get_matching_blocks()]
    for there, here, size in blocks:
        numbers[here : here + size] = [number for _, number in found[there : there + size]]
    return numbers


def _agreeing(first: list[str], second: list[str]) -> int:
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))))
