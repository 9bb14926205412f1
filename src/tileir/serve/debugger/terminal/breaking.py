"""Commands that say where the launch stops."""

from __future__ import annotations

import re
from typing import Final

from tileir.execute.arguments.argument_text import natural
from tileir.serve.debugger.breakpoints import AccessKind, Breakpoint
from tileir.serve.debugger.moments import Event, Stop
from tileir.serve.debugger.terminal.command_table import Command, CommandMistake, Function
from tileir.serve.debugger.terminal.looking import INFO
from tileir.serve.debugger.terminal.orders import Order
from tileir.serve.debugger.terminal.shell import WATCHED, Shell, sentence, short

_IF: Final = re.compile(r"(?:^|\s)if(?=[\s(]|$)")
_BLOCK: Final = re.compile(r"(?:^|\s)(?:block|thread)\s+(\(?[\d, ]+\)?)\s*$")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"\s*,?(.*)$', re.DOTALL)
_CONVERSION: Final = re.compile(r"%%|%[-+ #0]*\d*(?:\.\d+)?[hlqjzt]*[A-Za-z]")
"""Of gdb's formats."""
_EVENTS: Final[dict[str, Event]] = {
    "assert": "failure",
    "failure": "failure",
    "sanitizer": "sanitizer",
    "nan": "nan",
}


def _read(shell: Shell, text: str, temporary: bool = False) -> Order:
    """`LOCATION [block N] [if CONDITION]`."""
    found = _IF.search(text)
    condition = text[found.end() :].strip() if found is not None else ""
    if found is not None:
        if not condition:
            raise CommandMistake("Argument required (a condition behind 'if').")
        text = text[: found.start()]
    block = _BLOCK.search(text)
    place = text[: block.start()].strip() if block is not None else text.strip()
    number = block[1].strip() if block is not None else ""
    order = _placed(shell, place, number)
    order.condition, order.block, order.temporary = condition, number, temporary
    return order


def _placed(shell: Shell, place: str, block: str) -> Order:
    if not place and block:
        return Order("block", block)
    if not place:
        where = shell.frame.place
        if where is None:
            raise CommandMistake("Argument required (a location).")
        return Order("line", where.file, where.line)
    tail = place.rpartition(":")[2]
    if tail.isdecimal():
        file, line = shell.location(place)
        return Order("line", file, line)
    if place.removeprefix("@") == shell.debugger.name:
        return Order("operation", "0")
    return Order("operation", place.removeprefix("*"))


def _set(shell: Shell, order: Order) -> Breakpoint:
    """Place a breakpoint; one that has no place is taken away again, and said why."""
    debugger = shell.debugger
    found = order.put(debugger)
    if not found.is_verified:
        debugger.breakpoints.remove(found.number)
        raise CommandMistake(sentence(found.message))
    shell.orders[found.number] = order
    return found


def _where(found: Breakpoint) -> str:
    place = found.place
    return f" at {short(place.file)}:{place.line}" if place is not None else ""


def _told(shell: Shell, what: str, found: Breakpoint) -> None:
    if found.is_change:
        shell.say(f"{what} {found.number}: {found.text}")
        return
    more = f" ({found.message})" if found.message else ""
    named = f": {found.text}" if found.kind != "line" and not found.text.isdecimal() else ""
    shell.say(f"{what} {found.number}{_where(found)}{named}{more}")


def _break(shell: Shell, rest: str) -> None:
    _told(shell, "Breakpoint", _set(shell, _read(shell, rest)))


def _tbreak(shell: Shell, rest: str) -> None:
    _told(shell, "Temporary breakpoint", _set(shell, _read(shell, rest, temporary=True)))


def _watching(access: AccessKind) -> Function:
    def watch(shell: Shell, rest: str) -> None:
        if not rest:
            raise CommandMistake("Argument required (a value, or an element of an array).")
        found = _IF.search(rest)
        order = Order("change", rest[: found.start()].strip() if found is not None else rest)
        order.condition = rest[found.end() :].strip() if found is not None else ""
        order.access = access
        _told(shell, WATCHED[access], _set(shell, order))

    return watch


def _dprintf(shell: Shell, rest: str) -> None:
    place, comma, text = rest.partition(",")
    if not comma:
        raise CommandMistake('Usage: dprintf LOCATION,"TEXT {EXPRESSION}"')
    order = _read(shell, place)
    order.log = _written(text.strip())
    _told(shell, "Dprintf", _set(shell, order))


def _written(text: str) -> str:
    """The text of a dprintf, with `{EXPRESSION}` also for gdb's `"round %d\\n", step`."""
    quoted = _QUOTED.match(text)
    template, expressions = (quoted[1], _separated(quoted[2])) if quoted is not None else (text.strip('"'), [])
    # A line is ended anyway.
    template = template.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').removesuffix("\n")
    if not expressions:
        return template
    wanted = len([one for one in _CONVERSION.findall(template) if one != "%%"])
    if wanted != len(expressions):
        raise CommandMistake(f"Bad format string: it takes {wanted} expressions, and {len(expressions)} are given.")
    rest = iter(expressions)
    return _CONVERSION.sub(lambda found: "%" if found[0] == "%%" else f"{{{next(rest)}}}", template)


def _separated(text: str) -> list[str]:
    """Expressions with commas between them."""
    found: list[str] = []
    depth = 0
    for part in text.split(","):
        if depth:
            found[-1] += f",{part}"
        else:
            found.append(part)
        depth += sum([part.count(one) for one in "([{"]) - sum([part.count(one) for one in ")]}"])
    return [one.strip() for one in found if one.strip()]


def run_to(shell: Shell, location: str) -> None:
    """Run on to a location, or to whatever stops the launch before it."""
    debugger = shell.running
    there = _set(shell, _read(shell, location, temporary=True)).number

    def run() -> Stop:
        try:
            stop = debugger.resume()
        finally:
            debugger.breakpoints.remove(there)
            shell.orders.pop(there, None)
        return Stop("step", stop.moment) if stop.breakpoints == (there,) else stop

    shell.run(run)


def _until(shell: Shell, rest: str) -> None:
    if not rest:
        raise CommandMistake("Argument required (a location).")
    run_to(shell, rest)


def _catch(shell: Shell, rest: str) -> None:
    debugger = shell.debugger
    if not rest:
        caught = ", ".join(sorted(debugger.stop_on)) or "nothing"
        shell.say(f"Caught: {caught}. There is assert, sanitizer and nan; 'catch no WHAT' undoes it.")
        return
    words = rest.split()
    event = _EVENTS.get(words[-1])
    if event is None or len(words) > 2 or (len(words) == 2 and words[0] != "no"):
        raise CommandMistake(f'There is nothing called "{rest}" to catch: assert, sanitizer or nan.')
    if len(words) == 2:
        debugger.stop_on.discard(event)
        shell.say(f"No longer stops at {words[1]}.")
    else:
        debugger.stop_on.add(event)
        shell.say(f"Catchpoint ({words[0]})")


# --- those there are ---


def _numbered(shell: Shell, rest: str) -> list[Breakpoint]:
    """Breakpoints by number, as `1 3-5`; all where nothing is said."""
    breakpoints = shell.debugger.breakpoints
    if not rest:
        return list(breakpoints)
    found: list[Breakpoint] = []
    for word in rest.replace(",", " ").split():
        low, dash, high = word.partition("-")
        first, last = natural(low), natural(high) if dash else natural(low)
        if first is None or last is None:
            raise CommandMistake(f'Bad breakpoint number "{word}".')
        for number in range(first, min(last, first + 10_000) + 1):
            if number not in breakpoints:
                raise CommandMistake(f"No breakpoint number {number}.")
            found.append(breakpoints[number])
    return found


def _delete(shell: Shell, rest: str) -> None:
    for one in _numbered(shell, rest):
        shell.debugger.breakpoints.remove(one.number)
        shell.orders.pop(one.number, None)
        shell.attached.pop(one.number, None)


def _clear(shell: Shell, rest: str) -> None:
    file, line = shell.location(rest) if rest else _here(shell)
    found = [
        one
        for one in shell.debugger.breakpoints
        if one.place is not None and (one.place.file, one.place.line) == (file, line)
    ]
    if not found:
        raise CommandMistake(f"No breakpoint at {short(file)}:{line}.")
    _delete(shell, " ".join([str(one.number) for one in found]))
    shell.say(f"Deleted breakpoint{'s' if len(found) > 1 else ''} {' '.join([str(one.number) for one in found])}")


def _here(shell: Shell) -> tuple[str, int]:
    place = shell.frame.place
    if place is None:
        raise CommandMistake("Argument required (a location).")
    return place.file, place.line


def _enable(shell: Shell, rest: str) -> None:
    for one in _numbered(shell, rest):
        shell.debugger.breakpoints.enable(one.number, True)


def _disable(shell: Shell, rest: str) -> None:
    for one in _numbered(shell, rest):
        shell.debugger.breakpoints.enable(one.number, False)


def _condition(shell: Shell, rest: str) -> None:
    word, _, condition = rest.partition(" ")
    if not word:
        raise CommandMistake("Argument required (breakpoint number).")
    one = _numbered(shell, word)[0]
    condition = condition.strip()
    one.condition = shell.debugger.breakpoints.expression(condition) if condition else None
    if one.number in shell.orders:
        shell.orders[one.number].condition = condition
    if not condition:
        shell.say(f"Breakpoint {one.number} now unconditional.")


def _ignore(shell: Shell, rest: str) -> None:
    words = rest.split()
    count = natural(words[1]) if len(words) == 2 else None
    if count is None:
        raise CommandMistake("Usage: ignore NUMBER COUNT")
    one = _numbered(shell, words[0])[0]
    one.hit_condition = (">", one.hits + count) if count else None
    shell.say(f"Will ignore next {count} crossings of breakpoint {one.number}.")


def _commands(shell: Shell, rest: str) -> None:
    known = list(shell.debugger.breakpoints)
    if not known:
        raise CommandMistake("No breakpoints specified.")
    wanted = _numbered(shell, rest) if rest else known[-1:]
    reader = shell.reader
    if reader is None:
        raise CommandMistake("Commands of a breakpoint are typed at a terminal, or in a file of commands.")
    lines: list[str] = []
    while True:
        line = reader(">")
        if line is None or line.strip() == "end":
            break
        if line.strip() and line.strip() != "silent":
            lines.append(line.strip())
    for one in wanted:
        shell.attached[one.number] = lines


def _kind_words(one: Breakpoint) -> str:
    if one.is_change:
        return {"write": "watchpoint", "read": "read watchpoint", "readWrite": "acc watchpoint"}[one.access]
    return "dprintf" if one.log is not None else "breakpoint"


def _info_breakpoints(shell: Shell, rest: str) -> None:
    _list(shell, _numbered(shell, rest), "No breakpoints or watchpoints.")


def _info_watchpoints(shell: Shell, rest: str) -> None:
    _list(shell, [one for one in _numbered(shell, rest) if one.is_change], "No watchpoints.")


def _list(shell: Shell, found: list[Breakpoint], none: str) -> None:
    if not found:
        shell.say(none)
        return
    kinds = [_kind_words(one) for one in found]
    width = max(11, *[len(kind) for kind in kinds])
    shell.say(f"Num  {'Type':{width}} Disp Enb What")
    for one, kind in zip(found, kinds, strict=True):
        what = one.text if one.is_change or one.place is None else f"{short(one.place.file)}:{one.place.line}"
        named = f" ({one.text})" if one.kind == "operation" and not one.text.isdecimal() else ""
        block = f" tile block {one.block}" if one.block is not None else ""
        kept = "del" if one.is_temporary else "keep"
        shell.say(f"{one.number:<4} {kind:{width}} {kept:4} {'y' if one.is_enabled else 'n':3} {what}{named}{block}")
        if one.condition is not None:
            shell.say(f"\tstop only if {one.condition.text}")
        if one.hits:
            shell.say(f"\tbreakpoint already hit {one.hits} time{'s' if one.hits > 1 else ''}")
        for line in shell.attached.get(one.number, []):
            shell.say(f"        {line}")


INFO.add(
    [
        Command("breakpoints", _info_breakpoints, "breakpoints and watchpoints", short=["b"]),
        Command("watchpoints", _info_watchpoints, "watchpoints"),
    ]
)

_LOCATION = "[LOCATION] [block N] [if CONDITION]"
_DETAILS = """\
A LOCATION is LINE, FILE:LINE, a kernel, an operation (mmaf), the name of a value (%acc: where it is computed), or
*NUMBER of an operation. CONDITION is an expression in NumPy's terms, as in: break 12 block 3 if x.max() > 1"""

COMMANDS = (
    Command(
        "break",
        _break,
        "stop at a location; without, at this line",
        short=["b", "br", "bre", "brea"],
        usage=_LOCATION,
        details=_DETAILS,
        completes="break",
    ),
    Command(
        "tbreak", _tbreak, "stop at a location once", short=["tb"], usage=_LOCATION, details=_DETAILS, completes="break"
    ),
    Command(
        "watch",
        _watching("write"),
        "stop where a value is computed, or an element of an array is written",
        usage="NAME | ARRAY[INDEX] [if CONDITION]",
        completes="value",
    ),
    Command(
        "rwatch",
        _watching("read"),
        "stop where a value is used, or an element of an array is read",
        short=["rw"],
        usage="NAME | ARRAY[INDEX] [if CONDITION]",
        completes="value",
    ),
    Command(
        "awatch",
        _watching("readWrite"),
        "stop where a value is computed or used, or an element of an array is read or written",
        short=["aw"],
        usage="NAME | ARRAY[INDEX] [if CONDITION]",
        completes="value",
    ),
    Command("catch", _catch, "stop at what is wrong", usage="[no] assert | sanitizer | nan"),
    Command(
        "dprintf",
        _dprintf,
        "write a text at a location, and go on; {EXPRESSION} in it is computed",
        usage='LOCATION,"TEXT" [,EXPRESSION ..]',
        details='As in: dprintf 29,"round {step}" or, as gdb has it, dprintf 29,"round %d\\n",step',
        completes="break",
    ),
    Command("condition", _condition, "give a breakpoint a condition, or none", usage="NUMBER [CONDITION]"),
    Command("ignore", _ignore, "pass a breakpoint COUNT times", usage="NUMBER COUNT"),
    Command("delete", _delete, "take breakpoints away; all without a number", short=["d"], usage="[NUMBER ..]"),
    Command("clear", _clear, "take away the breakpoints of a line", short=["cl"], usage="[LOCATION]"),
    Command("enable", _enable, "have breakpoints stop again", short=["en"], usage="[NUMBER ..]"),
    Command("disable", _disable, "have breakpoints no longer stop", short=["dis"], usage="[NUMBER ..]"),
    Command("commands", _commands, "carry out commands when a breakpoint is hit, up to 'end'", usage="[NUMBER ..]"),
    Command("advance", _until, "run on to a location", usage="LOCATION", completes="break"),
)
