"""Commands that say where the launch stops."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from tileir.execute.arguments.argument_text import natural
from tileir.serve.debugger.breakpoints import AccessKind, Breakpoint, BreakpointSpec
from tileir.serve.debugger.stops import Event
from tileir.serve.debugger.terminal.commands import COMMANDS, INFO, BadCommand
from tileir.serve.debugger.terminal.shell import Shell, sentence, short

WATCHPOINTS: Final[dict[AccessKind, str]] = {
    "write": "Watchpoint",
    "read": "Read watchpoint",
    "readWrite": "Access watchpoint",
}
_IF: Final = re.compile(r"(?:^|\s)if(?=[\s(]|$)")
_BLOCK: Final = re.compile(r"(?:^|\s)(?:block|thread)\s+(\(?[\d, ]+\)?)\s*$")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"\s*,?(.*)$', re.DOTALL)
_CONVERSION: Final = re.compile(r"%%|%[-+ #0]*\d*(?:\.\d+)?[hlqjzt]*[A-Za-z]")
"""Of gdb's formats."""
_EVENTS: Final[dict[str, Event]] = {"assert": "failure", "failure": "failure", "sanitizer": "sanitizer", "nan": "nan"}
_DETAILS: Final = """
A LOCATION is LINE, FILE:LINE, a kernel, an operation (mmaf), the name of a value (%acc: where it is computed), or
*NUMBER of an operation. CONDITION is an expression in NumPy's terms, as in: break 12 block 3 if x.max() > 1"""

_command = partial(COMMANDS.command, group="breakpoints")
_break_command = partial(_command, usage="[LOCATION] [block N] [if CONDITION]", completes="location")


def read_spec(shell: Shell, text: str) -> BreakpointSpec:
    """`LOCATION [block N] [if CONDITION]`."""
    text, condition = _without_condition(text)
    block = _BLOCK.search(text)
    where = text[: block.start()].strip() if block is not None else text.strip()
    number = block[1].strip() if block is not None else None
    if not where and number is not None:
        return BreakpointSpec("block", number, condition=condition)
    if not where or where.rpartition(":")[2].isdecimal():
        file, line = shell.location(where) if where else _line_of_frame(shell)
        return BreakpointSpec("line", file, line, condition=condition, block=number)
    return BreakpointSpec("operation", where.removeprefix("*"), condition=condition, block=number)


def _without_condition(text: str) -> tuple[str, str]:
    """What stands before `if`, and the condition."""
    found = _IF.search(text)
    if found is None:
        return text, ""
    condition = text[found.end() :].strip()
    if not condition:
        raise BadCommand("Argument required (a condition behind 'if').")
    return text[: found.start()], condition


def _line_of_frame(shell: Shell) -> tuple[str, int]:
    location = shell.frame.location
    if location is None:
        raise BadCommand("Argument required (a location).")
    return location.file, location.line


def _place(shell: Shell, what: str, spec: BreakpointSpec) -> None:
    """Place a breakpoint and show it; one that cannot be placed is removed again."""
    found = shell.debugger.breakpoints.place(spec)
    if not found.is_verified:
        shell.debugger.breakpoints.remove(found.number)
        raise BadCommand(sentence(found.message))
    if found.kind == "data":
        shell.say(f"{what} {found.number}: {found.text}")
        return
    at = f" at {short(found.location.file)}:{found.location.line}" if found.location is not None else ""
    more = f" ({found.message})" if found.message else ""
    shell.say(f"{what} {found.number}{at}{_name(shell, found, ': ')}{more}")


def _name(shell: Shell, found: Breakpoint, before: str, behind: str = "") -> str:
    """What a breakpoint is at beside its line."""
    is_kernel = found.text.removeprefix("@") == shell.debugger.name
    return "" if found.kind == "line" or found.text.isdecimal() or is_kernel else f"{before}{found.text}{behind}"


@_break_command("break", "b", "br", "bre", "brea", help=f"Stop at a location; without one, at this line.{_DETAILS}")
def _break(shell: Shell, rest: str) -> None:
    _place(shell, "Breakpoint", read_spec(shell, rest))


@_break_command("tbreak", "tb", help=f"Stop at a location once.{_DETAILS}")
def _tbreak(shell: Shell, rest: str) -> None:
    spec = read_spec(shell, rest)
    spec.temporary = True
    _place(shell, "Temporary breakpoint", spec)


def _watch(access: AccessKind, shell: Shell, rest: str) -> None:
    if not rest:
        raise BadCommand("Argument required (a value, or an element of an array).")
    name, condition = _without_condition(rest)
    _place(shell, WATCHPOINTS[access], BreakpointSpec("data", name.strip(), condition=condition, access=access))


def _add_watch(name: str, access: AccessKind, *short: str, help: str) -> None:
    add = _command(name, *short, usage="NAME | ARRAY[INDEX] [if CONDITION]", completes="value", help=help)
    add(partial(_watch, access))


_add_watch("watch", "write", help="Stop where a value is computed, or an element of an array is written.")
_add_watch("rwatch", "read", "rw", help="Stop where a value is used, or an element of an array is read.")
_add_watch(
    "awatch",
    "readWrite",
    "aw",
    help="Stop where a value is computed or used, or an element of an array is read or written.",
)


@_command("catch", usage="[no] assert | sanitizer | nan")
def _catch(shell: Shell, rest: str) -> None:
    """Stop at what is wrong."""
    debugger = shell.debugger
    if not rest:
        caught = ", ".join(sorted(debugger.stop_on)) or "nothing"
        shell.say(f"Caught: {caught}. There is assert, sanitizer and nan; 'catch no WHAT' undoes it.")
        return
    words = rest.split()
    event = _EVENTS.get(words[-1])
    if event is None or words[:-1] not in ([], ["no"]):
        raise BadCommand(f'There is nothing called "{rest}" to catch: assert, sanitizer or nan.')
    if len(words) == 2:
        debugger.stop_on.discard(event)
        shell.say(f"No longer stops at {words[1]}.")
    else:
        debugger.stop_on.add(event)
        shell.say(f"Catchpoint ({words[0]})")


@_command("dprintf", usage='LOCATION,"TEXT" [,EXPRESSION ..]', completes="location")
def _dprintf(shell: Shell, rest: str) -> None:
    """Write a text at a location, and go on; {EXPRESSION} in it is computed.

    As in: dprintf 29,"round {step}" or, as gdb has it, dprintf 29,"round %d\\n",step
    """
    where, comma, text = rest.partition(",")
    if not comma:
        raise BadCommand('Usage: dprintf LOCATION,"TEXT {EXPRESSION}"')
    spec = read_spec(shell, where)
    spec.log = _template(text.strip())
    _place(shell, "Dprintf", spec)


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


# --- existing breakpoints ---


def _numbered(shell: Shell, rest: str) -> list[Breakpoint]:
    """Breakpoints by number, as `1 3-5`; all without a number."""
    breakpoints = shell.debugger.breakpoints
    if not rest:
        return list(breakpoints)
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
def _condition(shell: Shell, rest: str) -> None:
    """Give a breakpoint a condition, or none."""
    word, _, condition = rest.partition(" ")
    if not word:
        raise BadCommand("Argument required (breakpoint number).")
    one = _numbered(shell, word)[0]
    one.condition = shell.debugger.breakpoints.expression(condition) if condition.strip() else None
    one.spec.condition = condition.strip()
    if one.condition is None:
        shell.say(f"Breakpoint {one.number} now unconditional.")


@_command("ignore", usage="NUMBER COUNT")
def _ignore(shell: Shell, rest: str) -> None:
    """Pass a breakpoint COUNT times."""
    words = rest.split()
    count = natural(words[1]) if len(words) == 2 else None
    if count is None:
        raise BadCommand("Usage: ignore NUMBER COUNT")
    one = _numbered(shell, words[0])[0]
    one.hit_condition = (">", one.hits + count) if count else None
    shell.say(f"Will ignore next {count} crossings of breakpoint {one.number}.")


@_command("delete", "d", usage="[NUMBER ..]")
def _delete(shell: Shell, rest: str) -> None:
    """Delete breakpoints; all without a number."""
    for one in _numbered(shell, rest):
        shell.debugger.breakpoints.remove(one.number)
        shell.attached.pop(one.number, None)


@_command("clear", "cl", usage="[LOCATION]")
def _clear(shell: Shell, rest: str) -> None:
    """Delete the breakpoints of a line."""
    file, line = shell.location(rest) if rest else _line_of_frame(shell)
    numbers = [
        str(one.number)
        for one in shell.debugger.breakpoints
        if one.location is not None and (one.location.file, one.location.line) == (file, line)
    ]
    if not numbers:
        raise BadCommand(f"No breakpoint at {short(file)}:{line}.")
    _delete(shell, " ".join(numbers))
    shell.say(f"Deleted breakpoint{'s' if len(numbers) > 1 else ''} {' '.join(numbers)}")


def _set_enabled(is_enabled: bool, shell: Shell, rest: str) -> None:
    for one in _numbered(shell, rest):
        one.is_enabled = is_enabled


_command("enable", "en", usage="[NUMBER ..]", help="Have breakpoints stop again.")(partial(_set_enabled, True))
_command("disable", "dis", usage="[NUMBER ..]", help="Have breakpoints no longer stop.")(partial(_set_enabled, False))


@_command("commands", usage="[NUMBER ..]")
def _commands(shell: Shell, rest: str) -> None:
    """Carry out commands when a breakpoint is hit, up to 'end'."""
    known = list(shell.debugger.breakpoints)
    if not known:
        raise BadCommand("No breakpoints specified.")
    chosen = _numbered(shell, rest) if rest else known[-1:]
    if shell.reader is None:
        raise BadCommand("Commands of a breakpoint are typed at a terminal, or in a file of commands.")
    lines: list[str] = []
    while (line := shell.reader(">")) is not None and line.strip() != "end":
        if line.strip() not in ("", "silent"):
            lines.append(line.strip())
    for one in chosen:
        shell.attached[one.number] = lines


@INFO.command("breakpoints", "b")
def _info_breakpoints(shell: Shell, rest: str) -> None:
    """Breakpoints and watchpoints."""
    _list(shell, _numbered(shell, rest), "No breakpoints or watchpoints.")


@INFO.command("watchpoints")
def _info_watchpoints(shell: Shell, rest: str) -> None:
    """Watchpoints."""
    _list(shell, [one for one in _numbered(shell, rest) if one.kind == "data"], "No watchpoints.")


def _list(shell: Shell, found: list[Breakpoint], none: str) -> None:
    if not found:
        shell.say(none)
        return
    kinds = [_kind(one) for one in found]
    width = max(11, *[len(kind) for kind in kinds])
    shell.say(f"Num  {'Type':{width}} Disp Enb What")
    for one, kind in zip(found, kinds, strict=True):
        location = one.location
        what = one.text if location is None else f"{short(location.file)}:{location.line}"
        name = _name(shell, one, " (", ")") if one.kind == "operation" else ""
        block = f" tile block {one.block}" if one.block is not None else ""
        kept = "del" if one.spec.temporary else "keep"
        shell.say(f"{one.number:<4} {kind:{width}} {kept:4} {'y' if one.is_enabled else 'n':3} {what}{name}{block}")
        if one.condition is not None:
            shell.say(f"\tstop only if {one.condition.text}")
        if one.hits:
            shell.say(f"\tbreakpoint already hit {one.hits} time{'s' if one.hits > 1 else ''}")
        for line in shell.attached.get(one.number, []):
            shell.say(f"        {line}")


def _kind(one: Breakpoint) -> str:
    if one.kind == "data":
        return {"write": "watchpoint", "read": "read watchpoint", "readWrite": "acc watchpoint"}[one.spec.access]
    return "dprintf" if one.log is not None else "breakpoint"
