"""Every example of the drafts is a program that this project reads.

A file of `programs/drafts` holds the examples of one section, wrapped into a module:

* line 1: `// the operations draft, section 8.3.2 cat, examples`;
* line 2: `// verify: yes`, `// verify: no (why)`, or, in a file `*_rejected.mlir`,
  `// expect: a part of the diagnostic`;
* `// block N` stands before the statements of the section's N-th code block. A block of
  which one statement is refused is spread over two files and marked in both.

The spellings are the drafts' own; the letters and numbers in the comments are rows of
docs/reference/conflicts.md. The one-line signatures of the operations draft (`cuda_tile.cat %lhs %rhs %dim`) and
the C and C++ fragments of the types, printer and folds drafts are not programs and are not counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import tileir

FOLDER = Path(__file__).parent / "programs" / "drafts"

FIRST_LINE = re.compile(r"// the (?P<draft>\w+) draft, section (?P<section>[^,]+), \S.*")
SECOND_LINE = re.compile(r"// (?:verify: (?P<verify>yes|no \(.+\))|expect: (?P<expect>\S.*))")
BLOCK = re.compile(r"^ *// block (\d+)\b", re.MULTILINE)

#: (draft, section) -> (code blocks in the section, files that cover it). A section without a
#: code block is here when it names spellings or rules that a program can show.
SECTIONS: dict[tuple[str, str], tuple[int, int]] = {
    ("operations", "8.3.2 cat"): (1, 1),
    ("operations", "8.3.3 constant"): (1, 1),
    ("operations", "8.3.4 entry"): (1, 1),
    ("operations", "8.3.5 extract"): (1, 1),
    ("operations", "8.3.6 get_global"): (1, 1),
    ("operations", "8.3.7 get_num_tile_blocks"): (1, 1),
    ("operations", "8.3.9 global"): (1, 1),
    ("operations", "8.3.12 offset"): (1, 2),
    ("operations", "8.3.13 permute"): (1, 1),
    ("operations", "8.3.15 reshape"): (2, 1),
    ("operations", "8.3.16 scan"): (1, 1),
    ("operations", "8.5.1 assert"): (1, 1),
    ("operations", "8.5.2 break"): (1, 1),
    ("operations", "8.5.3 continue"): (1, 1),
    ("operations", "8.5.4 for"): (1, 1),
    ("operations", "8.5.5 if"): (1, 1),
    ("operations", "8.5.6 loop"): (5, 1),
    ("operations", "8.5.7 return"): (1, 1),
    ("operations", "8.5.8 yield"): (1, 1),
    ("operations", "8.6.2 load_ptr_tko"): (1, 1),
    ("operations", "8.6.4 store_ptr_tko"): (1, 1),
    ("operations", "8.7.5 ceil"): (1, 1),
    ("operations", "8.7.6 cmpf"): (1, 1),
    ("operations", "8.7.8 cos"): (1, 1),
    ("operations", "8.7.10 exp2"): (1, 1),
    ("operations", "8.7.12 floor"): (1, 1),
    ("operations", "8.11.3 load_view_tko"): (2, 1),
    ("operations", "8.11.4 make_partition_view"): (1, 2),
    ("operations", "8.11.5 make_tensor_view"): (1, 1),
    ("operations", "8.11.6 store_view_tko"): (2, 1),
    ("operations", "8.12.2 print"): (1, 1),
    ("bytecode", "Encoding Walk: cuda_tile.addi"): (1, 1),
    ("types", "Concrete Types"): (0, 2),
    ("types", "Element-Type Palette"): (0, 1),
    ("types", "Dynamic-dimension sentinel and tile cap"): (0, 2),
    ("types", "Tile Type"): (0, 1),
    ("types", "Pointer and View Types"): (0, 4),
    ("types", "Assumption Predicates"): (0, 1),
    ("types", "DivByAttr Verifier"): (0, 4),
    ("types", "BoundedAttr Verifier"): (0, 2),
    ("types", "SameElementsAttr Verifier"): (0, 1),
    ("printer", "Printing Model"): (1, 1),
    ("printer", "Token-Ordered Memory Syntax"): (1, 4),
    ("printer", "Enum Spellings"): (0, 3),
    ("printer", "cuTe Layout Attributes"): (1, 2),
    ("printer", "SSA Result Names and the 5-Path Constant Algorithm"): (0, 1),
    ("printer", "Region Printing"): (1, 1),
    ("folds", "CombineIfs"): (2, 1),
    ("folds", "CombineNestedIfs"): (2, 2),
}


@dataclass(frozen=True)
class Example:
    """One file of `programs/drafts`, its head lines taken apart."""

    name: str
    text: str
    draft: str
    section: str
    verify: str | None
    """`yes`, `no (why)`, or None in a rejected file."""
    expect: str | None
    """The part of a diagnostic that a rejected file must give."""
    blocks: frozenset[int]
    """Numbers of the section's code blocks that the file shows, wholly or in part."""


def read_example(path: Path) -> Example:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    first = FIRST_LINE.fullmatch(lines[0])
    second = SECOND_LINE.fullmatch(lines[1])
    assert first is not None, f"{path.name}:1: {lines[0]}"
    assert second is not None, f"{path.name}:2: {lines[1]}"
    return Example(
        name=path.stem,
        text=text,
        draft=first["draft"],
        section=first["section"],
        verify=second["verify"],
        expect=second["expect"],
        blocks=frozenset(int(number) for number in BLOCK.findall(text)),
    )


def replay_text(example: Example) -> str:
    """The text with the one spelling that only a replay of the folds draft accepts (A13) spelled out."""
    if "// replay: A13\n" not in example.text:
        return example.text
    return re.sub(r" : i1$", " : tile<i1>", example.text, flags=re.MULTILINE)


def messages_of(text: str) -> list[str]:
    """What the parser says or, when it is content, what the verifier says."""
    try:
        tileir.verify(tileir.parse(text))
    except (tileir.ParseError, tileir.VerifyError) as error:
        return [diagnostic.message for diagnostic in error.diagnostics]
    return []


EXAMPLES = [read_example(path) for path in sorted(FOLDER.glob("*.mlir"))]
ACCEPTED = [example for example in EXAMPLES if example.expect is None]
REJECTED = [example for example in EXAMPLES if example.expect is not None]


def name_of(example: Example) -> str:
    return example.name


@pytest.mark.parametrize("example", ACCEPTED, ids=name_of)
def test_example_prints_and_parses_back_to_the_same_text(example: Example) -> None:
    printed = str(tileir.parse(replay_text(example)))
    assert str(tileir.parse(printed)) == printed


@pytest.mark.parametrize("example", ACCEPTED, ids=name_of)
def test_example_verifies_as_its_second_line_says(example: Example) -> None:
    module = tileir.parse(replay_text(example))
    if example.verify == "yes":
        tileir.verify(module)
    else:
        with pytest.raises(tileir.VerifyError):
            tileir.verify(module)


@pytest.mark.parametrize("example", REJECTED, ids=name_of)
def test_rejected_example_gives_the_expected_diagnostic(example: Example) -> None:
    assert example.expect is not None
    messages = messages_of(example.text)
    assert any(example.expect in message for message in messages), messages


def test_every_code_block_of_the_drafts_is_covered() -> None:
    covered: dict[tuple[str, str], tuple[frozenset[int], int]] = {}
    for example in EXAMPLES:
        blocks, files = covered.get((example.draft, example.section), (frozenset(), 0))
        covered[example.draft, example.section] = (blocks | example.blocks, files + 1)
    expected = {section: (frozenset(range(1, blocks + 1)), files) for section, (blocks, files) in SECTIONS.items()}
    assert covered == expected


def test_file_name_says_whether_the_example_is_rejected() -> None:
    assert [example.name for example in EXAMPLES if example.name.endswith("_rejected")] == [
        example.name for example in REJECTED
    ]
