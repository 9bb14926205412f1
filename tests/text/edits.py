"""Random edits of programs, as people make them and as nobody does."""

import random
from pathlib import Path

PROGRAMS = sorted([*Path("tests/programs").glob("*.mlir"), *Path("examples").glob("**/*.mlir")])
PIECES = [
    *["a", "<", ">", "tile<", '"', "//", "\n", "\n", " ", "%x", "%0", "%1", "#1", "7", "->", "-", "{", "}", "(", ")"],
    *["return", "addi %0, %0 : tile<i32>", "tile<i32>", "%x = constant <i32: 1> : tile<i32>\n", " : tile<i32>"],
    *["yield", "continue", "^bb", "#a = 1\n", "loc(unknown)", ",", "=", "module", "é", "😀", "/"],
]


def random_edits(chance: random.Random, text: str, count: int, words: list[str]):
    """Edits one after the other: from an offset to another, and what stands there then; the text goes along."""
    lines = text.splitlines(True)
    undo: list[tuple[int, int, str]] = []
    for _ in range(count):
        kind = chance.random()
        start = end = chance.randrange(len(text) + 1)
        new = ""
        if kind < 0.3:
            new = chance.choice(PIECES)
        elif kind < 0.5:
            end = min(len(text), start + chance.choice([1, 1, 2, 10]))
        elif kind < 0.7:
            word = chance.choice(words)
            start = max(text.find(word, start), 0)
            end = start + len(word)
            new = chance.choice(words) if chance.random() < 0.7 else ""
        elif kind < 0.8:
            start = end = text.rfind("\n", 0, start) + 1
            new = chance.choice(lines)
        elif kind < 0.9:
            start = text.rfind("\n", 0, start) + 1
            end = text.find("\n", start) + 1 or len(text)
        else:
            end = min(len(text), start + chance.choice([0, 5, 60]))
            new = "".join(chance.choices(PIECES, k=3))
        if undo and chance.random() < 0.35:
            start, end, new = undo.pop()
        else:
            undo.append((start, start + len(new), text[start:end]))
        text = text[:start] + new + text[end:]
        yield start, end, new
