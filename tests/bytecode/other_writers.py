"""One program, as each known writer of Tile IR bytecode lays it out (docs/reference/bytecode.md section 2).

`encode` follows the sources of the writers: which sections they write and in which order, what they pad, what
they put into the tables and in which order.  For cutile-rs 0.3 its own writer, built from source, gave the same bytes
in each version; for cuTile Python a test calls the installed one.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.bytecode.pieces import RETURN, File, Function, Piece, Table, constant, debug_payload, tile, varint

from tileir.bytecode import MAGIC
from tileir.bytecode.container import ALIGNMENTS, CONSTANT, DEBUG, FUNCTION, GLOBAL, PRODUCER, STRING, TYPE

VERSIONS = ((13, 1), (13, 2), (13, 3), (13, 4))
I1, I32, F32 = b"\x00", b"\x03", b"\x07"


@dataclass(frozen=True)
class Writer:
    """What a writer does; the defaults are what NVIDIA's library does."""

    order: tuple[int, ...] = (GLOBAL, FUNCTION, CONSTANT, DEBUG, TYPE, PRODUCER, STRING)
    versions: tuple[tuple[int, int], ...] = VERSIONS
    pads_functions: bool = True
    #: Sections that are there without an entry.
    empty: tuple[int, ...] = ()
    first_types: tuple[bytes, ...] = ()
    #: Whether equal constants have one entry.
    shares_constants: bool = True
    #: Whether the names of attributes are among the strings, where each first occurs.
    names_attributes: bool = False
    #: The byte of a true i1.
    true: bytes = b"\xff"
    writes_globals: bool = False
    #: Whether the types of signatures come before those of globals.
    signatures_first: bool = False
    #: Whether the tables have the last entry first.
    reverses_types: bool = False
    reverses_strings: bool = False
    producer: str = ""


CUTILE = Writer(
    (FUNCTION, GLOBAL, CONSTANT, DEBUG, TYPE, STRING),
    pads_functions=False,
    empty=(CONSTANT, DEBUG),
    first_types=(I1, I32),
)
WRITERS = {
    "NVIDIA's library": Writer(writes_globals=True, signatures_first=True),
    "cutile-rs": Writer(
        (GLOBAL, FUNCTION, CONSTANT, TYPE, STRING),
        VERSIONS[:3],
        shares_constants=False,
        names_attributes=True,
        writes_globals=True,
    ),
    "cuTile Python": CUTILE,
    "cuTile.jl": CUTILE,
    "Halide": Writer((TYPE, STRING, CONSTANT, FUNCTION), VERSIONS[:1], shares_constants=False),
    "Dawn": Writer((FUNCTION, CONSTANT, TYPE, STRING), pads_functions=False, true=b"\x01"),
}
#: The suffix of the source files in the debug information of each.
SUFFIXES = {"cuTile Python": ".py", "cuTile.jl": ".jl"}


class _Table:
    """Entries by number; with `shares` equal ones are one, with `count` the table of so many has the last one first."""

    def __init__(self, entries: tuple[bytes, ...] = (), shares: bool = True, count: int = 0) -> None:
        self.entries = list(entries)
        self._shares = shares
        self._count = count

    def __call__(self, entry: bytes) -> int:
        if not (self._shares and entry in self.entries):
            self.entries.append(entry)
        index = self.entries.index(entry) if self._shares else len(self.entries) - 1
        return self._count - 1 - index if self._count else index

    def payload(self, size: int) -> bytes:
        return Table(size, self.entries[::-1] if self._count else self.entries).build()


class _Encoder:
    """The tables and the payloads of one file; `counts` are the sizes of the tables of types and of strings to reverse."""

    def __init__(self, writer: Writer, version: tuple[int, int], counts: tuple[int, int] = (0, 0)) -> None:
        self.writer = writer
        self.version = version
        self.types = _Table(writer.first_types, count=counts[0])
        self.strings = _Table(count=counts[1])
        self.constants = _Table(shares=writer.shares_constants)

    def attribute(self, name: str) -> None:
        if self.writer.names_attributes:
            self.strings(name.encode())

    def payloads(self, source: str) -> dict[int, bytes]:
        found = {}
        if self.writer.signatures_first:
            self._signature()
        if self.writer.writes_globals:
            found[GLOBAL] = self._globals()
        if DEBUG in self.writer.empty:
            found[DEBUG] = self._locations(source)
        found[FUNCTION] = self._functions()
        if self.writer.producer:
            found[PRODUCER] = varint(self.strings(self.writer.producer.encode()))
        if self.constants.entries or CONSTANT in self.writer.empty:
            found[CONSTANT] = self.constants.payload(8)
        return {**found, TYPE: self.types.payload(4), STRING: self.strings.payload(4)}

    def _globals(self) -> bytes:
        name, type = self.strings(b"table"), self.types(tile(self.types(I32), 2))
        numbers = [name, type, self.constants(constant(b"\1\0\0\0\2\0\0\0")), 0]
        numbers += [0, 0] if self.version >= (13, 3) else []
        return varint(1) + b"".join(map(varint, numbers))

    def _functions(self) -> bytes:
        self.attribute("sym_name")
        name = self.strings(b"k")
        self.attribute("function_type")
        signature = self._signature()
        located = 1 if DEBUG in self.writer.empty else 0
        payload = varint(1) + Function(name, signature, 2, located, b"", self._body()).build()
        return payload + b"\xcb" * (-len(payload) % 8 if self.writer.pads_functions else 0)

    def _signature(self) -> int:
        flags = b"\0" if self.version >= (13, 4) else b""
        pointer = self.types(b"\x0c" + flags + varint(self.types(F32)))
        parameters = varint(self.types(tile(pointer))) + varint(self.types(tile(self.types(I32))))
        return self.types(b"\x10\2" + parameters + b"\0")

    def _body(self) -> bytes:
        """Values 0 and 1 are the parameters, 2 to 4 the constants, 5 and 6 the sums."""
        flag, number = self.types(tile(self.types(I1))), varint(self.types(tile(self.types(I32))))
        self.attribute("value")
        seven = constant(b"\7\0\0\0")
        body = b"\x10" + varint(flag) + varint(self.constants(constant(self.writer.true)))
        body += b"\x10" + number + varint(self.constants(seven)) + b"\x10" + number + varint(self.constants(seven))
        self.attribute("overflow")
        body += b"\3" + number + b"\0\1\3" + b"\3" + number + b"\0\5\4"
        self.attribute("message")
        return body + b"\5" + varint(self.strings(b"failed")) + b"\2" + RETURN

    def _locations(self, source: str) -> bytes:
        """The place of the function and of its seven operations; unknown without a source."""
        if not source:
            return debug_payload([0], [0] * 8, [b"\0"])
        name, folder, function = (varint(self.strings(text.encode())) for text in (source, "/src", "k"))
        whole = varint(self.strings(f"/src/{source}".encode()))
        blobs = [b"\2" + name + folder, b"\1\1", b"\5\1\7" + function + function + b"\2\7"]
        blobs += [b"\4\3" + whole + bytes([line, 5]) for line in range(7, 15)]
        return debug_payload([0], list(range(4, 12)), blobs)


def encode(writer: Writer, version: tuple[int, int] = (13, 3), source: str = "") -> bytes:
    """The file; `source` is the file that its locations name."""
    encoder = _Encoder(writer, version)
    payloads = encoder.payloads(source)
    if writer.reverses_types or writer.reverses_strings:
        counts = [len(encoder.types.entries), len(encoder.strings.entries)]
        encoder = _Encoder(writer, version, (counts[0] * writer.reverses_types, counts[1] * writer.reverses_strings))
        payloads = encoder.payloads(source)
    pieces = [Piece(each, ALIGNMENTS.get(each, 1), payloads[each]) for each in writer.order if each in payloads]
    return File(MAGIC + bytes(version) + b"\0\0", pieces).build()
