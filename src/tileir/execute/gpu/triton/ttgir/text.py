"""TTGIR as text: the statements of a kernel with their regions, every value with a name of its own.

Triton prints one operation in a line, and those with regions over several.  Only the values that a statement has and
uses are read, so that statements can be copied, moved and given other operands.  A group of four warps does half of
what eight did: tiles whose rows are spread over warps, by layouts of a matmul (`#mma`), of its left operand, or of a
row of numbers along the first dimension of such a tile, are half as long in that dimension.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

DOT: Final = "ttng.warp_group_dot"
WAIT: Final = "ttng.warp_group_dot_wait"
LOAD: Final = "ttng.async_tma_copy_global_to_local"
STORE: Final = "ttng.async_tma_copy_local_to_global"

VALUE: Final = re.compile(r"%[\w$.-]+(?:#\d+)?")
_RESULTS: Final = re.compile(r"(%[\w$.-]+(?::\d+)?(?:, %[\w$.-]+(?::\d+)?)*) = ")
_LOCATION: Final = re.compile(r'\s*loc\((?:#loc\d*|"[^"]*":\d+:\d+|unknown|"[^"]*"(?:\([^()]*\))?)\)')
_LOOP: Final = re.compile(
    r"scf\.for (%\S+) = (%\S+) to (%\S+) step (%\S+)(?: iter_args\((.*)\) -> \((.*)\))?\s*: (i32|i64) \{"
)
_FUNCTION: Final = re.compile(r"(tt\.func .*?@[\w$.]+)\((.*)\)((?: attributes \{.*\})?) \{")


_LAYOUT: Final = re.compile(r"(#\w+) = #ttg\.nvidia_mma<\{versionMajor = 3, .*warpsPerCTA = \[8, 1\].*\}>")
_TENSOR: Final = re.compile(
    r"(?<!tensordesc<)tensor<(\d+)x((?:\d+x)*)([a-z]\w*), (#\w+|#ttg\.(?:slice|dot_op)<\{[^{}]*\}>)>"
)
_ANY_TENSOR: Final = re.compile(r"(?<!tensordesc<)tensor<")
_MEMORY: Final = re.compile(r"(memdesc<|tensordesc<(?:tensor<)?)((?:\d+x)+)")
_RANGE: Final = re.compile(r"tt\.make_range \{end = (\d+) : i32, start = (\d+) : i32\} : (.*)")
_WARPS: Final = '"ttg.num-warps" = 8 : i32'


class Unfit(Exception):
    """A kernel that this cannot be done with; the message is the reason."""


class Statement:
    def __init__(self, results: list[tuple[str, int]], text: str) -> None:
        self.results: Final = results
        """Names, and how many values a name has (`%5#0`, `%5#1`); 0 for one without a number."""
        self.text: Final = text  # Of one with regions: all before the first.
        self.regions: Final[list[Region]] = []
        self.closings: Final[list[str]] = []

    @property
    def name(self) -> str:
        """That of the operation: `arith.addi`."""
        return self.text.split(None, 1)[0].split("(", 1)[0].strip('"')

    @property
    def result(self) -> str:
        name, count = self.results[0]
        return f"{name}#0" if count else name

    def values(self) -> list[str]:
        """All that it defines for those behind it."""
        return [f"{name}#{number}" if count else name for name, count in self.results for number in range(count or 1)]

    def uses(self) -> set[str]:
        """All that is used in it, and in its regions."""
        return {value for each in self.walk() for value in VALUE.findall(each.text)}

    def operands(self) -> list[str]:
        """What its own text uses, in order."""
        return VALUE.findall(self.text)

    @property
    def types(self) -> list[str]:
        """The types behind its last colon, in order: of operands, then of results."""
        listed = self.text.rpartition(" : ")[2].replace(" * ", ", ").replace(" -> ", ", ")
        return [each.strip("()") for each in split_list(listed)]

    @property
    def attributes(self) -> str:
        """What stands between its last operand and the types."""
        last = [*VALUE.finditer(self.text)][-1]
        return self.text[last.end() :].rpartition(" : ")[0]

    @property
    def is_alloc_of_tile(self) -> bool:
        """Whether it puts a tile into shared memory."""
        return self.name == "ttg.local_alloc" and bool(self.operands())

    def walk(self) -> Iterator[Statement]:
        yield self
        for region in self.regions:
            yield from region.walk()


class Region:
    def __init__(self, header: str = "") -> None:
        self.header: Final = header  # The arguments of its block, where they are printed in a line of their own.
        self.statements: Final[list[Statement]] = []

    def walk(self) -> Iterator[Statement]:
        for statement in self.statements:
            yield from statement.walk()


class Loop(Statement):
    def __init__(self, results: list[tuple[str, int]], text: str) -> None:
        super().__init__(results, text)
        found = _LOOP.fullmatch(text)
        if found is None:
            raise Unfit(f"it has a loop of an unusual kind, '{text[:60]}'")
        self.counter, self.first, self.last, self.step, carried, types, self.type = found.groups()
        pairs = [pair.split(" = ") for pair in split_list(carried or "")]
        self.carried: Final = [inside for inside, _ in pairs]
        self.given: Final = [given for _, given in pairs]
        self.carried_types: Final = split_list(types or "")

    @property
    def body(self) -> list[Statement]:
        """Without the `scf.yield` at its end."""
        return [each for each in self.regions[0].statements if each.name != "scf.yield"]

    @property
    def yielded(self) -> list[str]:
        return [
            value for each in self.regions[0].statements[-1:] if each.name == "scf.yield" for value in each.operands()
        ]


class Kernel:
    def __init__(self, text: str) -> None:
        lines = [_LOCATION.sub("", line).strip() for line in text.splitlines() if not line.startswith("#loc")]
        starts = [number for number, line in enumerate(lines) if line.startswith("tt.func")]
        found = _FUNCTION.fullmatch(lines[starts[0]]) if len(starts) == 1 else None
        if found is None:
            raise Unfit("it has other functions" if len(starts) != 1 else "its function is of an unusual kind")
        self.head: Final = lines[: starts[0]]  # Names of layouts, and the line that opens the module.
        self.function, parameters, self.attributes = found.groups()
        named = [parameter.split(": ", 1) for parameter in split_list(parameters)]
        names = {name: f"%parameter{number}" for number, (name, _) in enumerate(named)}
        self.parameters: Final = [(names[name], type) for name, type in named]
        """Names and types, with attributes behind them."""
        self.body: Final = _Reader([line for line in lines[starts[0] + 1 :] if line]).region([names])


class _Reader:
    """Reads lines, and renames every value to a unique name."""

    def __init__(self, lines: list[str]) -> None:
        self._lines: Final = lines[::-1]  # The next is the last.
        self._count: int = 0

    def region(self, scopes: list[dict[str, str]]) -> Region:
        """Statements up to a bracket that closes, which is left."""
        header = self._lines.pop() if self._lines[-1].startswith("^") else ""
        for name in VALUE.findall(header):
            scopes[-1][name] = self._fresh()
        region = Region(self._used(header, scopes[-1:]))
        while not self._lines[-1].startswith("}"):
            region.statements.append(self._statement(self._lines.pop(), scopes))
        return region

    def _statement(self, line: str, scopes: list[dict[str, str]]) -> Statement:
        found = _RESULTS.match(line)
        results = [name.partition(":")[::2] for name in found[1].split(", ")] if found else []
        text = line[found.end() :] if found else line
        inner: dict[str, str] = {}
        is_loop = text.startswith("scf.for ")
        if is_loop:
            before, _, rest = text.partition(" = ")
            arguments = rest.partition(" iter_args(")[2].partition(") -> (")[0]
            for name in (before.split()[-1], *[pair.split(" = ")[0] for pair in split_list(arguments)]):
                inner[name] = self._fresh()
        text = self._used(text, [*scopes, inner])
        named = [(self._fresh(), int(count) if count else 0) for _, count in results]
        statement = Loop(named, text) if is_loop else Statement(named, text)
        while line.endswith("{"):
            statement.regions.append(self.region([*scopes, dict(inner)]))
            line = self._lines.pop()
            statement.closings.append(line)
        scopes[-1].update({name: renamed for (name, _), (renamed, _) in zip(results, named, strict=True)})
        return statement

    def _used(self, text: str, scopes: list[dict[str, str]]) -> str:
        def renamed(found: re.Match[str]) -> str:
            name, mark, number = found[0].partition("#")
            for scope in reversed(scopes):
                if name in scope:
                    return scope[name] + mark + number
            raise Unfit(f"it uses '{name}' in an unusual way")

        return VALUE.sub(renamed, text)

    def _fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"


def split_list(text: str) -> list[str]:
    """What is between the commas that are in no brackets."""
    found, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        if character in "<([{":
            depth += 1
        elif character in ")]}" or (character == ">" and text[at - 1] != "-"):
            depth -= 1
        elif character == "," and not depth:
            found.append(text[begin:at].strip())
            begin = at + 1
    rest = text[begin:].strip()
    return [*found, rest] if rest else found


# --- types of half of the rows ---


class Halves:
    def __init__(self, head: list[str]) -> None:
        self._layouts: Final = {found[1] for line in head if (found := _LAYOUT.match(line))}
        if not self._layouts or not any(_WARPS in line for line in head):
            raise Unfit("it has no matmul of eight warps with rows of its own for each")
        self.head: Final = [
            line.replace("warpsPerCTA = [8, 1]", "warpsPerCTA = [4, 1]").replace(_WARPS, _WARPS.replace("8", "4"))
            for line in head
        ]

    def text(self, text: str, group: int) -> str:
        """A statement, or a list of types, for one of the two groups."""
        if len(_ANY_TENSOR.findall(text)) != len(_TENSOR.findall(text)):
            raise Unfit("it has tiles in layouts of other kinds")
        found = _RANGE.fullmatch(text)
        if found is not None and self.has_rows(found[3]):
            end, start = int(found[1]), int(found[2])
            half = (end - start) // 2
            start += group * half
            text = f"tt.make_range {{end = {start + half} : i32, start = {start} : i32}} : {found[3]}"
        return _TENSOR.sub(self._half, text)

    def has_rows(self, type: str) -> bool:
        """Whether the first dimension of a tile is that of rows."""
        found = _TENSOR.fullmatch(type)
        return found is not None and self._half(found) != type

    def _half(self, found: re.Match[str]) -> str:
        rows, layout = int(found[1]), found[4]
        parent = re.search(r"parent = (#\w+)", layout)
        name = parent[1] if parent is not None else layout
        if name not in self._layouts or "opIdx = 1" in layout:
            raise Unfit("it has tiles in layouts of other kinds")
        if rows == 1 or "dim = 0" in layout:
            return found[0]
        if rows % 128:
            raise Unfit(f"a tile has {rows} rows, which are not 64 for each of two groups")
        return f"tensor<{rows // 2}x{found[2]}{found[3]}, {layout}>"


def half_memory(type: str) -> str:
    """The type of shared memory or of a descriptor for half of the rows: the dimension before the last."""

    def half(found: re.Match[str]) -> str:
        sizes = [int(size) for size in found[2].split("x")[:-1]]
        if len(sizes) < 2 or sizes[-2] % 128:
            raise Unfit("what is loaded has no rows for two groups")
        sizes[-2] //= 2
        return found[1] + "".join([f"{size}x" for size in sizes])

    return _MEMORY.sub(half, type, count=1)


def rows_of(type: str) -> int:
    found = re.match(r"!ttg\.memdesc<((?:\d+x)+)", type)
    assert found is not None
    return int(found[1].split("x")[:-1][-2])


def mutable(type: str) -> str:
    """A type of shared memory, of such as is written more than once."""
    return type if type.endswith("mutable>") else f"{type[:-1]}, mutable>"
