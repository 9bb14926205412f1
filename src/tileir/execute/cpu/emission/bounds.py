"""Bounds: what checked code asks before it touches memory, so that a kernel cannot leave the memory of its launch.

Most accesses are known to be inside at the price of a few instructions for many of them:

- A view that is the same for the whole launch is looked at once by each thread, before its first tile block.  If it
  leaves the array it is made from, the version for arguments that share memory runs instead (`record.UNSUITED`).
- Any other view is looked at where it is made.  One that leaves its array is no error as long as nobody touches what
  is outside: its tiles count as lying over an edge, and there each is looked at (`@bounds.box`).
- Pointers are compared, a vector at a time, with the array that they most likely point into, and only if they do not
  with all memory of the launch (`@bounds.elements`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tileir.dialect.ops import ASSUME
from tileir.dialect.types import PointerType, TileType
from tileir.execute.cpu.analysis.aliasing import RENAMED, Origins, likely_home
from tileir.execute.cpu.emission import bounds_text
from tileir.execute.cpu.emission.accesses import Based, Box, Look, TensorView
from tileir.execute.cpu.emission.nests import Number
from tileir.execute.cpu.emission.ranges import Ranges
from tileir.execute.cpu.loops.checks import Check
from tileir.execute.cpu.loops.expressions import Gathered, row_major
from tileir.execute.cpu.loops.sinks import StorePointers
from tileir.execute.cpu.loops.statements import Chain, Let, Multiply, Reserve, Statement, statements
from tileir.execute.cpu.native import record as slots
from tileir.execute.cpu.vector.casting import BOOL
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.dtypes import memory_bytes
from tileir.ir.attributes import IntegerAttribute
from tileir.ir.core import BlockArgument, Operation, Value

if TYPE_CHECKING:
    from tileir.execute.cpu.emission.worker import Emission

READABLE = 1
WRITABLE = 3
"""What `@bounds.find` says of memory, and what an access wants of it."""


class Home:
    """An array that pointers stay in, most likely: where it begins, how many bytes it has, and whether a kernel that
    compiles may write to it."""

    __slots__ = ("low", "room", "writable")

    def __init__(self, low: Number, room: Number, writable: bool) -> None:
        self.low: Number = low
        self.room: Number = room
        self.writable: bool = writable


def wanted_of(operation: Operation) -> int:
    return WRITABLE if operation.declaration.writes is not None else READABLE


class Bounds:
    """What checked code shares."""

    def __init__(self, emission: Emission) -> None:
        self._emission: Emission = emission
        entry = emission.program.entry
        self.origins: Origins = Origins(entry, emission.options.overlapping)
        """For what is known of views that are the same for the whole launch."""
        reserves = [each.operation for each in statements(emission.program.body) if isinstance(each, Reserve)]
        self._reserves: dict[Operation, int] = {operation: number for number, operation in enumerate(reserves)}
        self._reserved: str | None = None
        self._numbers: str | None = None
        self._rank: int = 0
        self._widest: int = 0
        self._homes: dict[object, Home] = {}
        self._places: dict[tuple[Home, int], Number] = {}
        self.called: set[str] = set()
        """The functions that code calls."""
        self.remembers: bool = any(
            isinstance(each, (Chain, Multiply)) and each.memo is not None for each in statements(emission.program.body)
        )
        """Whether packed operands are remembered from tile block to tile block."""
        parent = entry.parent_operation
        inside: list[Operation] = list(parent.regions[0].blocks[0]) if parent is not None and parent.regions else []
        self._constants: set[str] = {
            f"@{each.symbol_name}"
            for each in inside
            if each.declaration.mnemonic == "global" and "constant" in each.attributes
        }

    # --- memory ---

    def home(self, value: Value) -> Home | None:
        """The array that a pointer, or the pointer behind a view, most likely stays in."""
        emission = self._emission
        source = likely_home(emission.program.entry, value)
        if source is None:
            return None
        if isinstance(source, Operation):
            register = emission.scalars.get(source.results[0])
            return Home(register.name, reserved_bytes(source), True) if register is not None else None
        found = self._homes.get(source)
        if found is None:
            if isinstance(source, BlockArgument):
                slot = emission.layout.of_parameter(source.index)
            else:
                slot = emission.layout.of_global(str(source).removeprefix("@"))
            low, high = emission.record_slot(slot), emission.record_slot(slot + 1)
            room = f"%home{slot}.bytes"
            emission.at_entry(f"{room} = sub i64 {high}, {low}")
            # An argument that a kernel may write through has to be writable in every launch.
            found = self._homes[source] = Home(low, room, source not in self._constants)
        return found

    def places(self, home: Home, size: int) -> Number:
        """How many places there are in an array for so many bytes, counting from its first byte."""
        if isinstance(home.room, int):
            return max(home.room - (size - 1), 0)
        found = self._places.get((home, size))
        if found is None:
            name = f"{home.room}.{size}"
            emission = self._emission
            emission.module.declare("declare i64 @llvm.usub.sat.i64(i64, i64)")
            emission.at_entry(f"{name} = call i64 @llvm.usub.sat.i64(i64 {home.room}, i64 {size - 1})")
            found = self._places[home, size] = name
        return found

    @property
    def reserved(self) -> str:
        """Where it is noted what `alloca` has reserved: two words each."""
        if not self._reserves:
            return "null"
        if self._reserved is None:
            self._reserved = self._emission.reserve("i64", 2 * self._emission.layout.reserve_count, 8)
            for number in range(2 * self._emission.layout.reserve_count):
                name = f"{self._reserved}.{number}"
                self._emission.at_entry(f"{name} = getelementptr i64, ptr {self._reserved}, i64 {number}")
                self._emission.at_entry(f"store i64 0, ptr {name}, align 8")
        return self._reserved

    def note(self, operation: Operation, address: str) -> None:
        """An `alloca` has reserved memory."""
        builder = self._emission.builder
        end = builder.emit(f"add i64 {address}, {reserved_bytes(operation)}")
        for word, value in enumerate((address, end)):
            place = self._emission.shifted(self.reserved, 8 * (2 * self._reserves[operation] + word))
            builder.do(f"store i64 {value}, ptr {place}, align 8")

    def forget(self, body: list[Statement]) -> None:
        """What was reserved inside is given back."""
        for statement in statements(body):
            if isinstance(statement, Reserve):
                for word in range(2):
                    number = 2 * self._reserves[statement.operation] + word
                    place = self._emission.shifted(self.reserved, 8 * number)
                    self._emission.builder.do(f"store i64 0, ptr {place}, align 8")

    # --- views ---

    def emit_suitability(self) -> None:
        """Code before the first tile block: whether the views that are the same in all of them lie in their arrays.

        A function of its own, compiled quickly: it runs once for each thread.
        """
        emission = self._emission
        builder = emission.builder
        uniform = [
            operation
            for operation in emission.program.entry.walk()
            if operation.declaration.mnemonic == "make_tensor_view" and self.origins.is_uniform_view(operation)
        ]
        if not uniform:
            return
        before = (self._homes, self._places)
        self._homes, self._places = {}, {}
        with emission.elsewhere() as lines:
            answer = "true"
            for operation in uniform:
                for operand in operation.operands:
                    self._hoist(operand)
                emission.emitters[Let](emission, Let(operation))
                home = self.home(operation.results[0])
                assert home is not None
                fits = self._lies_in(operation, home)
                answer = fits if answer == "true" else builder.emit(f"and i1 {answer}, {fits}")
            builder.do(f"ret i1 {answer}")
        self._homes, self._places = before
        head = "define internal i1 @suits(ptr %record) noinline optnone nounwind {\nentry:"
        emission.module.functions.append("\n".join([head, *lines, "}"]))
        answer = builder.emit("call i1 @suits(ptr %record)")
        builder.do(f"br i1 {answer}, label %suited, label %unsuited, !prof !{emission.likely()}")
        builder.label("unsuited")
        failed = emission.slot_pointer(slots.FAILED)
        builder.do(f"store atomic i64 {slots.UNSUITED}, ptr {failed} monotonic, align 8")
        builder.do(f"store atomic i64 1, ptr {emission.slot_pointer(slots.STOP)} release, align 8")
        emission.leave_worker(1)
        builder.label("suited")

    def _hoist(self, value: Value) -> None:
        """Compute a value that is the same for the whole launch, with what it is made of."""
        emission = self._emission
        work = [value]
        while work:
            operation = work[-1].defining_operation
            if operation is None or work[-1] in emission.scalars or work[-1] in emission.views:
                work.pop()
                continue
            missing = [
                operand
                for operand in operation.operands
                if operand.defining_operation is not None
                and operand not in emission.scalars
                and operand not in emission.views
            ]
            if missing:
                work.extend(missing)
                continue
            is_renamed = operation.declaration in (ASSUME, *RENAMED)
            if is_renamed and operation.operands[0] in emission.scalars:
                emission.scalars[operation.results[0]] = emission.scalars[operation.operands[0]]
            else:
                emission.emitters[Let](emission, Let(operation))
            work.pop()

    def _reach(self, operation: Operation) -> tuple[Number, list[str], list[str]]:
        """Of a tensor: its bytes from the first element to the last; conditions: the number wrapped; there is none."""
        emission = self._emission
        builder = emission.builder
        view = emission.views[operation.results[0]]
        assert isinstance(view, TensorView)
        size = memory_bytes(view.element)
        total: Number = size
        wraps: list[str] = []
        empty: list[str] = []
        for extent, stride in zip(view.extents, view.strides, strict=True):
            if isinstance(extent, int):
                if extent == 0:
                    return size, [], ["true"]
                if extent == 1:
                    continue
            else:
                empty.append(builder.emit(f"icmp eq i64 {extent}, 0"))
            steps = emission.subtract(extent, 1)
            if isinstance(stride, int):
                # Static strides are small: the extent has to be so small that the product does not wrap.
                distance = (stride % (1 << 64)) * size
                if isinstance(steps, int):
                    if steps * distance >= 1 << 62:
                        wraps.append("true")
                    length: Number = min(steps * distance, 1 << 62)
                else:
                    if distance:
                        wraps.append(builder.emit(f"icmp ugt i64 {steps}, {(1 << 62) // distance}"))
                    length = emission.multiply(steps, _signed(distance))
            else:
                length, wrapped = self._product(steps, stride)
                wraps.append(wrapped)
                if size > 1:
                    wraps.append(builder.emit(f"icmp ugt i64 {length}, {(1 << 62) // size}"))
                    length = emission.multiply(length, size)
            if isinstance(total, int) and isinstance(length, int):
                total += length
            elif isinstance(stride, int) and total == size:
                total = emission.add(total, length)
            else:
                pair = builder.call(_PAIR, "llvm.uadd.with.overflow.i64", [f"i64 {total}", f"i64 {length}"])
                total = builder.emit(f"extractvalue {_PAIR} {pair}, 0")
                wraps.append(builder.emit(f"extractvalue {_PAIR} {pair}, 1"))
        return total, wraps, empty

    def _product(self, left: Number, right: Number) -> tuple[str, str]:
        builder = self._emission.builder
        pair = builder.call(_PAIR, "llvm.umul.with.overflow.i64", [f"i64 {left}", f"i64 {right}"])
        return builder.emit(f"extractvalue {_PAIR} {pair}, 0"), builder.emit(f"extractvalue {_PAIR} {pair}, 1")

    def _lies_in(self, operation: Operation, home: Home) -> str:
        """Whether a tensor lies in an array, an i1."""
        answer, _ = self._look_at_tensor(operation, home)
        return answer

    def _look_at_tensor(self, operation: Operation, home: Home | None) -> tuple[str, Number]:
        """Whether a tensor lies in an array, an i1; and its bytes, so many that no memory has them if they wrap."""
        emission = self._emission
        builder = emission.builder
        total, wraps, empty = self._reach(operation)
        if "true" in empty:
            return "true", total
        wrapped = self._any(wraps)
        if wrapped == "true":
            total = -1
        elif wrapped != "false":
            # Nothing has so many.
            total = builder.emit(f"select i1 {wrapped}, i64 -1, i64 {total}")
        if home is None:
            answer = "false"
        else:
            base = emission.scalars[operation.operands[0]].name
            offset = builder.emit(f"sub i64 {base}, {home.low}")
            left = builder.call("i64", "llvm.usub.sat.i64", [f"i64 {home.room}", f"i64 {offset}"])
            answer = builder.emit(f"icmp ule i64 {total}, {left}")
        nothing = self._any(empty)
        if nothing != "false":
            answer = builder.emit(f"or i1 {answer}, {nothing}")
        return answer, total

    def _any(self, conditions: list[str]) -> str:
        if "true" in conditions:
            return "true"
        answer = "false"
        for condition in conditions:
            answer = condition if answer == "false" else self._emission.builder.emit(f"or i1 {answer}, {condition}")
        return answer

    def judge(self, operation: Operation) -> tuple[str, str, str]:
        """Of a tensor view just made, i1s: it lies in the array it is made from; in memory; in memory to be written."""
        emission = self._emission
        if self.origins.is_uniform_view(operation):
            return "true", "true", "true"
        home = self.home(operation.results[0])
        if emission.options.unchecked:
            if home is None:
                return "false", "true", "true"
            return self._lies_in(operation, home), "true", "true"
        builder = emission.builder
        at_home, total = self._look_at_tensor(operation, home)
        if at_home == "true":
            return at_home, at_home, at_home
        # Elsewhere in memory it is as good.
        base = emission.scalars[operation.operands[0]].name
        name = builder.fresh("view")
        builder.do(f"br label %{name}.test")
        builder.label(f"{name}.test")
        builder.do(f"br i1 {at_home}, label %{name}.end, label %{name}.ask, !prof !{emission.likely()}")
        builder.label(f"{name}.ask")
        found = self._call("i64", "find", [f"i64 {base}", f"i64 {total}"])
        builder.do(f"br label %{name}.end")
        builder.label(f"{name}.end")
        mine = WRITABLE if home is not None and home.writable else READABLE
        known = builder.emit(f"phi i64 [ {mine}, %{name}.test ], [ {found}, %{name}.ask ]")
        fits = builder.emit(f"icmp uge i64 {known}, {READABLE}")
        return at_home, fits, builder.emit(f"icmp uge i64 {known}, {WRITABLE}")

    def look_at_box(self, box: Box) -> None:
        """Look at the elements of a tile that lie in their tensor, where the tensor does not lie in memory."""
        emission = self._emission
        builder = emission.builder
        operation = box.operation
        view = box.view
        fits = view.tensor.fits(operation)
        if fits == "true" or view.sparse >= 0:
            return
        name = builder.fresh("box")
        builder.do(f"br i1 {fits}, label %{name}.end, label %{name}.look, !prof !{emission.likely()}")
        builder.label(f"{name}.look")
        size = memory_bytes(view.tensor.element)
        rank = len(view.shape)
        room = self._room(rank)
        for axis in range(rank):
            distance = emission.multiply(view.strides[axis], size)
            for word, number in enumerate((box.starts[axis], view.extents[axis], distance, view.shape[axis])):
                place = emission.shifted(room, 8 * (4 * axis + word))
                builder.do(f"store i64 {_signed(number)}, ptr {place}, align 8")
        numbers = [f"i64 {view.tensor.address}", f"ptr {room}", f"i64 {rank}"]
        first = self._call("i64", "box", [*numbers, f"i64 {size}", f"i64 {wanted_of(operation)}"])
        well = builder.emit(f"icmp eq i64 {first}, -1")
        builder.do(f"br i1 {well}, label %{name}.end, label %{name}.fail")
        builder.label(f"{name}.fail")
        self.called.add("address")
        where = builder.emit(f"call i64 @bounds.address({', '.join(numbers)}, i64 {first})")
        self.fail(Check("outside", operation, (size, *view.shape)), first, where)
        builder.label(f"{name}.end")

    def _room(self, rank: int) -> str:
        """Room for the numbers of a box; one for all, as it is used at once."""
        if self._numbers is None:
            self._numbers = f"%{self._emission.builder.fresh('box')}.numbers"
        self._rank = max(self._rank, rank)
        return self._numbers

    def rooms(self) -> list[str]:
        """The instructions that make the rooms."""
        found = []
        if self._numbers is not None:
            found.append(f"  {self._numbers} = alloca i64, i64 {4 * max(self._rank, 1)}, align 8")
        if self._widest:
            found.append(f"  {_ADDRESSES} = alloca i64, i64 {self._widest}, align 64")
            found.append(f"  {_MASKS} = alloca i8, i64 {self._widest}, align 64")
        return found

    # --- elements ---

    def is_silent(self, operation: Operation) -> bool:
        """Whether nobody looks at the elements of an access through pointers."""
        options = self._emission.options
        if operation in self._emission.sure:
            return True
        return options.sanitize or (options.unchecked and not self._is_noticed(operation))

    def _is_noticed(self, operation: Operation) -> bool:
        """Whether it has to be known that a write leaves the array it is meant for: operands are remembered in the
        belief that it does not."""
        return self.remembers and operation.declaration.writes is not None

    def home_of(self, operation: Operation) -> Home | None:
        """The array that an access through pointers is most likely to, where it may do what it does."""
        declaration = operation.declaration
        place = declaration.reads if declaration.reads is not None else declaration.writes
        assert place is not None
        home = self.home(operation.operand_group(place)[0])
        return home if home is not None and (home.writable or declaration.writes is None) else None

    def judge_pointers(self, access: Gathered | StorePointers, sure: dict[Operation, bool]) -> list[str] | None:
        """Conditions under which all elements of an access stay in their array; None if nothing is known of them.

        Notes in `sure` that it does then, and whether the conditions have made its mask true everywhere.
        """
        home = self.home_of(access.operation)
        if home is None:
            return None
        emission = self._emission
        ranges = Ranges(emission)
        found = ranges.of(access.pointers)
        if found is None or "false" in ranges.conditions:
            return None
        sure[access.operation] = access.mask is not None and ranges.is_true(access.mask)
        place = access.operation.declaration.reads or access.operation.declaration.writes
        assert place is not None
        type = cast(TileType, access.operation.operand_group(place)[0].type)
        places = self.places(home, memory_bytes(cast(PointerType, type.element).pointee))
        for end in dict.fromkeys((found.low, found.high)):
            moved = emission.builder.emit(f"sub i64 {end}, {home.low}")
            ranges.conditions.append(emission.builder.emit(f"icmp ult i64 {moved}, {places}"))
        return ranges.conditions

    def is_at_home(self, operation: Operation, first: str, size: int) -> str:
        """Whether so many bytes from an address on lie in the array of an access, an i1."""
        home = self.home_of(operation)
        if home is None:
            return "false"
        builder = self._emission.builder
        moved = builder.emit(f"sub i64 {first}, {home.low}")
        return builder.emit(f"icmp ult i64 {moved}, {self.places(home, size)}")

    def look_at_pointers(
        self, look: Look, addresses: Register, mask: Register | None, based: Based | None = None
    ) -> None:
        """Look at the elements of an access through pointers: all together, and where that leaves a doubt each."""
        operation, size = look.operation, look.size
        if self.is_silent(operation):
            return
        emission = self._emission
        builder = emission.builder
        width = max(addresses.width, mask.width if mask is not None else 0)
        spread = builder.splat(addresses, width)
        home = self.home_of(operation)
        last = ""
        if home is None:
            last = emission.reserve("i64", 2, 8)
            emission.at_entry(f"call void @llvm.memset.p0.i64(ptr {last}, i8 0, i64 16, i1 false)")
            emission.module.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
            low = builder.emit(f"load i64, ptr {last}, align 8")
            behind = builder.emit(f"getelementptr i64, ptr {last}, i64 1")
            places = builder.emit(f"load i64, ptr {behind}, align 8")
        if home is not None:
            good = self._are_in(home, size, spread, based)
        else:
            good = self._are_between(low, places, spread)
        if mask is not None:
            chosen = builder.splat(mask, width)
            masked = builder.emit(f"xor {chosen.typed}, {'splat (i1 true)' if width else 'true'}")
            good = builder.value(f"or {good.typed}, {masked}", BOOL, width)
        answer = good.name
        if width:
            answer = builder.call("i1", f"llvm.vector.reduce.and.v{width}i1", [good.typed])
        name = builder.fresh("look")
        builder.do(f"br i1 {answer}, label %{name}.end, label %{name}.look, !prof !{emission.likely()}")
        builder.label(f"{name}.look")
        if not emission.options.unchecked:
            self._scrutinize(look, addresses, mask, width)
        if last:
            first = builder.emit(f"extractelement {spread.typed}, i64 0") if width else spread.name
            self.called.add("remember")
            values = f"i64 {first}, i64 {size}, i64 {wanted_of(operation)}, ptr {last}"
            builder.do(f"call void @bounds.remember(ptr %record, ptr {self.reserved}, {values})")
        if self._is_noticed(operation):
            emission.forget_panels()
        builder.do(f"br label %{name}.end")
        builder.label(f"{name}.end")

    def are_at_home(self, look: Look, addresses: Register, based: Based | None) -> Register | None:
        """Which lanes of an access lie in the array it is most likely to; None where it is not known which that is."""
        home = self.home_of(look.operation)
        return self._are_in(home, look.size, addresses, based) if home is not None else None

    def _are_in(self, home: Home, size: int, addresses: Register, based: Based | None) -> Register:
        if based is not None and based.numbers.width == addresses.width:
            # Numbers of elements are narrower than addresses, and so quicker to compare.
            return self._are_near(based, home, size)
        return self._are_between(home.low, self.places(home, size), addresses)

    def _are_between(self, low: Number, places: Number, addresses: Register) -> Register:
        builder = self._emission.builder
        begin, limit = (builder.splat(self._emission.register(number), addresses.width) for number in (low, places))
        moved = builder.emit(f"sub {addresses.typed}, {begin.name}")
        return builder.value(f"icmp ult {addresses.type} {moved}, {limit.name}", BOOL, addresses.width)

    def _are_near(self, based: Based, home: Home, size: int) -> Register:
        """Whether elements, counted from an address, lie in an array."""
        builder = self._emission.builder
        numbers = based.numbers
        width = 8 * numbers.dtype.itemsize
        shift = size.bit_length() - 1
        with based.nest.at_level(0):
            # So many before the address, and so many from it on; none if it is outside.
            offset = builder.emit(f"sub i64 {based.base.name}, {home.low}")
            inside = builder.emit(f"icmp ule i64 {offset}, {home.room}")
            rest = builder.emit(f"sub i64 {home.room}, {offset}")
            before, after = (builder.emit(f"lshr i64 {number}, {shift}") for number in (offset, rest))
            before = builder.call("i64", "llvm.umin.i64", [f"i64 {before}", f"i64 {(1 << (width - 1)) - 1}"])
            after = builder.call("i64", "llvm.umin.i64", [f"i64 {after}", f"i64 {(1 << (width - 1)) - 1}"])
            total = builder.emit(f"add i64 {before}, {after}")
            total = builder.emit(f"select i1 {inside}, i64 {total}, i64 0")
            limits = [before, total]
            if width < 64:
                limits = [builder.emit(f"trunc i64 {number} to i{width}") for number in limits]
            first, count = (builder.splat(Register(number, numbers.dtype), numbers.width) for number in limits)
        moved = builder.emit(f"add {numbers.typed}, {first.name}")
        return builder.value(f"icmp ult {numbers.type} {moved}, {count.name}", BOOL, numbers.width)

    def look_at_elements(self, look: Look, addresses: Register, mask: Register | None, unless: str) -> None:
        """Look at the elements at some addresses one by one, unless an i1 says that there is no need."""
        emission = self._emission
        if unless == "true" or emission.options.unchecked or emission.sanitize:
            return
        builder = emission.builder
        width = max(addresses.width, mask.width if mask is not None else 0)
        name = builder.fresh("look")
        builder.do(f"br i1 {unless}, label %{name}.end, label %{name}.look, !prof !{emission.likely()}")
        builder.label(f"{name}.look")
        self._scrutinize(look, addresses, mask, width)
        builder.do(f"br label %{name}.end")
        builder.label(f"{name}.end")

    def _scrutinize(self, look: Look, addresses: Register, mask: Register | None, width: int) -> None:
        """Compare each address with all memory of the launch."""
        emission = self._emission
        builder = emission.builder
        # One room for all that are looked at, each at once.
        room, masks = _ADDRESSES, _MASKS
        self._widest = max(self._widest, width, 1)
        spread = builder.splat(addresses, width)
        builder.do(f"store {spread.typed}, ptr {room}, align 8")
        chosen = builder.splat(mask if mask is not None else Register("true", BOOL), width)
        kind = f"<{width} x i8>" if width else "i8"
        builder.do(f"store {kind} {builder.emit(f'zext {chosen.typed} to {kind}')}, ptr {masks}, align 1")
        count = max(width, 1)
        element: Number = 0
        step = 0
        for axis, stride in zip(look.index, row_major(look.shape), strict=True):
            # On what is further in it does not depend: there the first is as good as any.
            if axis.level <= look.level:
                element = emission.add(element, emission.multiply(axis.base, stride))
                step = stride if axis.lanes else step
        emission.checks.append(Check("outside", look.operation, (look.size, *look.shape)))
        numbers: list[Number] = [count, look.size, wanted_of(look.operation)]
        numbers += [len(emission.checks), emission.block_number, element, step]
        values = [f"ptr {room}", f"ptr {masks}", *[f"i64 {number}" for number in numbers]]
        well = self._call("i1", "elements", values)
        name = builder.fresh("well")
        builder.do(f"br i1 {well}, label %{name}, label %failed")
        builder.label(name)

    # --- failures ---

    def fail(self, check: Check, element: Number, detail: Number) -> None:
        """Note a failure and end the worker.  Ends the basic block."""
        emission = self._emission
        emission.checks.append(check)
        self.called.add("fail")
        numbers = (len(emission.checks), emission.block_number, element, detail)
        values = ", ".join([f"i64 {number}" for number in numbers])
        emission.builder.do(f"call void @bounds.fail(ptr %record, ptr {self.reserved}, {values})")
        emission.builder.do("br label %failed")

    def _call(self, result: str, function: str, values: list[str]) -> str:
        self.called.add(function)
        text = f"call {result} @bounds.{function}(ptr %record, ptr {self.reserved}, {', '.join(values)})"
        return self._emission.builder.emit(text)

    def text(self) -> str:
        """The functions that the code calls."""
        for declaration in bounds_text.DECLARATIONS:
            self._emission.module.declare(declaration)
        return bounds_text.functions(self._emission.layout, self.called)


_PAIR = "{ i64, i1 }"
_ADDRESSES = "%looked.addresses"
_MASKS = "%looked.masks"


def _signed(number: Number) -> Number:
    """A number as LLVM writes it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63) if isinstance(number, int) else number


def reserved_bytes(operation: Operation) -> int:
    """How much an `alloca` reserves."""
    count = cast(IntegerAttribute, operation.attributes["num_elem"]).value
    return max(count * memory_bytes(cast(PointerType, cast(TileType, operation.results[0].type).element).pointee), 1)
