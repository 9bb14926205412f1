"""Bytes written as hexadecimal with remarks, for tests that explain a file byte by byte."""

from __future__ import annotations

from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def annotated(text: str) -> bytes:
    """The bytes of lines `01 02 | remark`; `"abc"` stands for its characters, `cb*3` for repetition."""
    data = bytearray()
    for line in text.splitlines():
        for word in line.partition("|")[0].split():
            if word.startswith('"'):
                data += word[1:-1].encode().replace(b"\\n", b"\n")
            elif "*" in word:
                byte, _, count = word.partition("*")
                data += bytes([int(byte, 16)]) * int(count)
            else:
                data.append(int(word, 16))
    return bytes(data)


def golden(name: str) -> bytes:
    return (GOLDEN / name).read_bytes()
