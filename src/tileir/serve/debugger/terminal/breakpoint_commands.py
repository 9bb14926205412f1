"""Commands that set where the launch stops."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from tileir.execute.arguments.argument_text import natural
from tileir.serve.debugger.breakpoints import AccessKind, Breakpoint, BreakpointSpec
from tileir.serve.debugger.stops import Event
from tileir.serve.debugger.terminal.shell import COMMANDS, INFO, BadCommand, Shell, sentence, short

WATCHPOINTS: Final = {"write": "Watchpoint", "read": "Read watchpoint", "readWrite": "Access watchpoint"}
_IF: Final = re.compile(r"(?:^|\s)if(?=[\s(]|$)")
_BLOCK: Final = re.compile(r"(?:^|\s)(?:block|thread)\s+(\(?[\d, ]+\)?)\s*$")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"\s*,?(.*)$', re.DOTALL)
_CONVERSION: Final = re.compile(r"%%|%[-+ #0]*\d*(?:\.\d+)?[hlqjzt]*[A-Za-z]")  # Of gdb's formats.
_EVENTS: Final[dict[str, Event]] = {"assert": "failure", "failure": "failure", "sanitizer": "sanitizer", "nan": "nan"}
_DETAILS: Final = """
A LOCATION is LINE, FILE:LINE, a kernel, an operation (mmaf), the name of a value (%acc: where it is computed), or
*NUMBER of an operation. CONDITION is an expression in NumPy's terms, as in: break 12 block 3 if x.max() > 1"""

_command = partial(COMMANDS.command, group="breakpoints")
_watching = partial(_command, usage="NAME | ARRAY[INDEX] [if CONDITION]", completes="value")
_break_command = partial(_command, usage="[LOCATION] [block N] [if CONDITION]", completes="location")


class BreakpointCommands(Shell):
    """Where the launch stops."""

    def read_spec(self, text: str) -> BreakpointSpec:
        """`LOCATION [block N] [if CONDITION]`."""
        text, condition = _without_condition(text)
        block = _BLOCK.search(text)
        where = text[: block.start()].strip() if block is not None else text.strip()
        number = block[1].strip() if block is not None else None
        if not where and number is not None:
            return BreakpointSpec("block", number, condition=condition)
        if not where or where.rpartition(":")[2].isdecimal():
            file, line = self.location(where) if where else self._line_of_frame()
            return BreakpointSpec("line", file, line, condition=condition, block=number)
        return BreakpointSpec("operation", where.removeprefix("*"), condition=condition, block=number)

    def _line_of_frame(self) -> tuple[str, int]:
        location = self.frame.location
        if location is None:
            raise BadCommand("Argument required (a location).")
        return location.file, location.line

    def _place(self, what: str, spec: BreakpointSpec) -> None:
        """Place a breakpoint and show it; one that cannot be placed is removed again."""
        found = self.debugger.breakpoints.place(spec)
        if not found.is_verified:
            self.debugger.breakpoints.pop(found.number, None)
            raise BadCommand(sentence(found.message))
        if found.kind == "data":
            self.say(f"{what} {found.number}: {found.text}")
            return
        at = f" at {short(found.location.file)}:{found.location.line}" if found.location is not None else ""
        more = f" ({found.message})" if found.message else ""
        self.say(f"{what} {found.number}{at}{self._name(found, ': ')}{more}")

    def _name(self, found: Breakpoint, before: str, behind: str = "") -> str:
        """What a breakpoint is at beside its line."""
        is_kernel = found.text.removeprefix("@") == self.debugger.name
        return "" if found.kind == "line" or found.text.isdecimal() or is_kernel else f"{before}{found.text}{behind}"

    @_break_command("break", "b", "br", "bre", "brea", help=f"Stop at a location; without one, at this line.{_DETAILS}")
    def _break(self, rest: str) -> None:
        self._place("Breakpoint", self.read_spec(rest))

    @_break_command("tbreak", "tb", help=f"Stop at a location once.{_DETAILS}")
    def _tbreak(self, rest: str) -> None:
        spec = self.read_spec(rest)
        spec.temporary = True
        self._place("Temporary breakpoint", spec)

    def _watch(self, rest: str, access: AccessKind) -> None:
        if not rest:
            raise BadCommand("Argument required (a value, or an element of an array).")
        name, condition = _without_condition(rest)
        self._place(WATCHPOINTS[access], BreakpointSpec("data", name.strip(), condition=condition, access=access))

    _watch_writes, _watch_reads = partial(_watch, access="write"), partial(_watch, access="read")
    _watch_all = partial(_watch, access="readWrite")
    _watching("watch", help="Stop where a value is computed, or an element of an array is written.")(_watch_writes)
    _watching("rwatch", "rw", help="Stop where a value is used, or an element of an array is read.")(_watch_reads)
    _watching("awatch", "aw", help="Stop at all of these: where a value or an element is read or written.")(_watch_all)

    @_command("catch", usage="[no] assert | sanitizer | nan")
    def _catch(self, rest: str) -> None:
        """Stop at what is wrong."""
        debugger = self.debugger
        if not rest:
            caught = ", ".join(sorted(debugger.stop_on)) or "nothing"
            self.say(f"Caught: {caught}. There is assert, sanitizer and nan; 'catch no WHAT' undoes it.")
            return
        words = rest.split()
        event = _EVENTS.get(words[-1])
        if event is None or words[:-1] not in ([], ["no"]):
            raise BadCommand(f'There is nothing called "{rest}" to catch: assert, sanitizer or nan.')
        if len(words) == 2:
            debugger.stop_on.discard(event)
            self.say(f"No longer stops at {words[1]}.")
        else:
            debugger.stop_on.add(event)
            self.say(f"Catchpoint ({words[0]})")

    @_command("dprintf", usage='LOCATION,"TEXT" [,EXPRESSION ..]', completes="location")
    def _dprintf(self, rest: str) -> None:
        """Write a text at a location, and go on; {EXPRESSION} in it is computed.

        As in: dprintf 29,"round {step}" or, as gdb has it, dprintf 29,"round %d\\n",step
        """
        where, comma, text = rest.partition(",")
        if not comma:
            raise BadCommand('Usage: dprintf LOCATION,"TEXT {EXPRESSION}"')
        spec = self.read_spec(where)
        spec.log = _template(text.strip())
        self._place("Dprintf", spec)

    def _numbered(self, rest: str) -> list[Breakpoint]:
        """Breakpoints by number, as `1 3-5`; all without a number."""
        breakpoints = self.debugger.breakpoints
        if not rest:
            return list(breakpoints.values())
        found: list[Breakpoint] = []
        for word in rest.replace(",", " ").split():
            low, dash, high = word.partition("-")
            first, last = natural(low), natural(high) if dash else natural(low)
            if first is None or last is None:
                raise BadCommand(f'Bad breakpoint number "{word}".')
            for number in range(first, min(last, first + 10_000) + 1):
                if number not in breakpoints:
                    raise BadCommand(f"No breakpoint number {number}.")
                found.append(breakpoints[number])
        return found

    @_command("condition", usage="NUMBER [CONDITION]")
    def _condition(self, rest: str) -> None:
        """Give a breakpoint a condition, or none."""
        word, _, condition = rest.partition(" ")
        if not word:
            raise BadCommand("Argument required (breakpoint number).")
        one = self._numbered(word)[0]
        one.condition = self.debugger.breakpoints.expression(condition) if condition.strip() else None
        one.spec.condition = condition.strip()
        if one.condition is None:
            self.say(f"Breakpoint {one.number} now unconditional.")

    @_command("ignore", usage="NUMBER COUNT")
    def _ignore(self, rest: str) -> None:
        """Pass a breakpoint COUNT times."""
        words = rest.split()
        count = natural(words[1]) if len(words) == 2 else None
        if count is None:
            raise BadCommand("Usage: ignore NUMBER COUNT")
        one = self._numbered(words[0])[0]
        one.hit_condition = (">", one.hits + count) if count else None
        self.say(f"Will ignore next {count} crossings of breakpoint {one.number}.")

    @_command("delete", "d", usage="[NUMBER ..]")
    def _delete(self, rest: str) -> None:
        """Delete breakpoints; all without a number."""
        for one in self._numbered(rest):
            self.debugger.breakpoints.pop(one.number, None)
            self.attached.pop(one.number, None)

    @_command("clear", "cl", usage="[LOCATION]")
    def _clear(self, rest: str) -> None:
        """Delete the breakpoints of a line."""
        file, line = self.location(rest) if rest else self._line_of_frame()
        placed = [(one.number, one.location) for one in self.debugger.breakpoints.values() if one.location is not None]
        numbers = [str(number) for number, place in placed if (place.file, place.line) == (file, line)]
        if not numbers:
            raise BadCommand(f"No breakpoint at {short(file)}:{line}.")
        self._delete(" ".join(numbers))
        self.say(f"Deleted breakpoint{'s' if len(numbers) > 1 else ''} {' '.join(numbers)}")

    def _set_enabled(self, rest: str, is_enabled: bool) -> None:
        for one in self._numbered(rest):
            one.is_enabled = is_enabled

    _enable, _disable = partial(_set_enabled, is_enabled=True), partial(_set_enabled, is_enabled=False)
    _command("enable", "en", usage="[NUMBER ..]", help="Have breakpoints stop again.")(_enable)
    _command("disable", "dis", usage="[NUMBER ..]", help="Have breakpoints no longer stop.")(_disable)

    @_command("commands", usage="[NUMBER ..]")
    def _commands(self, rest: str) -> None:
        """Carry out commands when a breakpoint is hit, up to 'end'."""
        known = list(self.debugger.breakpoints.values())
        if not known:
            raise BadCommand("No breakpoints specified.")
        chosen = self._numbered(rest) if rest else known[-1:]
        if self.reader is None:
            raise BadCommand("Commands of a breakpoint are typed at a terminal, or in a file of commands.")
        lines: list[str] = []
        while (line := self.reader(">")) is not None and line.strip() != "end":
            if line.strip() not in ("", "silent"):
                lines.append(line.strip())
        for one in chosen:
            self.attached[one.number] = lines

    @INFO.command("breakpoints", "b")
    def _info_breakpoints(self, rest: str) -> None:
        """Breakpoints and watchpoints."""
        self._list_breakpoints(self._numbered(rest), "No breakpoints or watchpoints.")

    @INFO.command("watchpoints")
    def _info_watchpoints(self, rest: str) -> None:
        """Watchpoints."""
        self._list_breakpoints([one for one in self._numbered(rest) if one.kind == "data"], "No watchpoints.")

    def _list_breakpoints(self, found: list[Breakpoint], none: str) -> None:
        if not found:
            self.say(none)
            return
        kinds = [_kind(one) for one in found]
        width = max(11, *[len(kind) for kind in kinds])
        self.say(f"Num  {'Type':{width}} Disp Enb What")
        for one, kind in zip(found, kinds, strict=True):
            location = one.location
            what = one.text if location is None else f"{short(location.file)}:{location.line}"
            name = self._name(one, " (", ")") if one.kind == "operation" else ""
            block = f" tile block {one.block}" if one.block is not None else ""
            kept = "del" if one.spec.temporary else "keep"
            self.say(f"{one.number:<4} {kind:{width}} {kept:4} {'y' if one.is_enabled else 'n':3} {what}{name}{block}")
            if one.condition is not None:
                self.say(f"\tstop only if {one.condition.text}")
            if one.hits:
                self.say(f"\tbreakpoint already hit {one.hits} time{'s' if one.hits > 1 else ''}")
            for line in self.attached.get(one.number, []):
                self.say(f"        {line}")


def _without_condition(text: str) -> tuple[str, str]:
    """What stands before `if`, and the condition."""
    found = _IF.search(text)
    if found is None:
        return text, ""
    condition = text[found.end() :].strip()
    if not condition:
        raise BadCommand("Argument required (a condition behind 'if').")
    return text[: found.start()], condition


def _template(text: str) -> str:
    """The text of a dprintf, with `{EXPRESSION}` also for gdb's `"round %d\\n", step`."""
    quoted = _QUOTED.match(text)
    template, expressions = (quoted[1], _separated(quoted[2])) if quoted is not None else (text.strip('"'), [])
    # A line is ended anyway.
    template = template.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').removesuffix("\n")
    if not expressions:
        return template
    count = len([one for one in _CONVERSION.findall(template) if one != "%%"])
    if count != len(expressions):
        raise BadCommand(f"Bad format string: it takes {count} expressions, and {len(expressions)} are given.")
    rest = iter(expressions)
    return _CONVERSION.sub(lambda found: "%" if found[0] == "%%" else f"{{{next(rest)}}}", template)


def _separated(text: str) -> list[str]:
    found: list[str] = []
    depth = 0
    for part in text.split(","):
        if depth:
            found[-1] += f",{part}"
        else:
            found.append(part)
        depth += sum([part.count(one) for one in "([{"]) - sum([part.count(one) for one in ")]}"])
    return [one.strip() for one in found if one.strip()]


def _kind(one: Breakpoint) -> str:
    if one.kind == "data":
        return WATCHPOINTS[one.spec.access].lower().replace("access", "acc")
    return "dprintf" if one.log is not None else "breakpoint"
