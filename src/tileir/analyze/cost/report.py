"""A cost for people: as text, and as HTML for notebooks.  Both are made of the answer that the explorer's page gets."""

from __future__ import annotations

import html
from typing import Any, Final

from tileir.execute.launching.timing import duration
from tileir.execute.work.operations import quantity
from tileir.ir.quoting import harmless_line

_MOST_KINDS: Final = 12
"""Kinds of operations that are listed."""


def rendered(heading: str, answer: dict[str, Any]) -> str:
    """A table, with a line for each fact."""
    lines = [harmless_line(heading), ""]
    for name, facts in rows(answer):
        for number, fact in enumerate(facts):
            lines.append(f"  {name if not number else '':<11} {harmless_line(fact)}")
    return "\n".join(lines)


def as_html(heading: str, answer: dict[str, Any]) -> str:
    """A table for a notebook."""
    cells = [
        f"<tr><th style='text-align:left;vertical-align:top'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{'<br>'.join([html.escape(fact) for fact in facts])}</td></tr>"
        for name, facts in rows(answer)
    ]
    return f"<table><caption style='text-align:left'>{html.escape(heading)}</caption>{''.join(cells)}</table>"


def rows(answer: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """What there is to say: a word, and lines about it."""
    found = [
        ("time", _time(answer)),
        ("because", answer["time"]["reasons"]),
        ("memory", _memory(answer)),
        ("operations", _operations(answer)),
        ("roofline", _roofline(answer)),
        ("occupancy", _occupancy(answer["occupancy"])),
        ("waves", _waves(answer["waves"])),
        ("sources", answer["sources"]),
        ("notes", answer["notes"]),
    ]
    return [(name, facts) for name, facts in found if facts]


def _time(answer: dict[str, Any]) -> list[str]:
    seconds, measured = answer["time"]["seconds"], answer["measured"]
    found = [f"about {duration(seconds)}"]
    if measured is not None:
        found.append(f"measured {duration(measured)}: the estimate is {seconds / measured:.2f} of it")
    return found


def _memory(answer: dict[str, Any]) -> list[str]:
    found = [
        f"{quantity(answer['footprint'], 'B')} between memory and caches, if those are perfect; "
        f"{quantity(answer['bytesMoved'], 'B')} that tile blocks read and write"
    ]
    for array in answer["memory"]:
        found.append(
            f"{array['name']}: {quantity(array['read'], 'B')} read, {quantity(array['written'], 'B')} written, "
            f"footprint {quantity(array['footprint'], 'B')}"
        )
    return found


def _operations(answer: dict[str, Any]) -> list[str]:
    kinds = answer["operations"]
    found = [f"{quantity(answer['flops'], 'FLOP')}"]
    if answer["intensity"] is not None:
        found[0] += f", {answer['intensity']:.4g} for each byte"
    found += [f"{each['kind']}: {quantity(each['count'], '').strip()}" for each in kinds[:_MOST_KINDS]]
    if len(kinds) > _MOST_KINDS:
        rest = sum([each["count"] for each in kinds[_MOST_KINDS:]])
        found.append(f"{len(kinds) - _MOST_KINDS} other kinds: {quantity(rest, '').strip()}")
    return found


def _roofline(answer: dict[str, Any]) -> list[str]:
    roofline = answer["roofline"]
    found = [f"memory {quantity(roofline['memory'], 'B/s')}"]
    used = [each for each in roofline["ceilings"] if each["used"]]
    found += [f"{each['name']} {quantity(each['value'], 'FLOP/s')}" for each in used]
    point = roofline["point"]
    if point is not None and point["attainable"]:
        found.append(f"at {point['intensity']:.4g} operations a byte at most {quantity(point['attainable'], 'FLOP/s')}")
    return found


def _occupancy(occupancy: dict[str, Any]) -> list[str]:
    if occupancy["blocksPerMultiprocessor"] is None:
        return [occupancy["reason"]] if occupancy["reason"] else []
    return [
        f"{occupancy['blocksPerMultiprocessor']} tile blocks of {occupancy['warps']} warps on a multiprocessor, "
        f"limited by {occupancy['limit']}",
        f"{occupancy['registers']} registers for each thread, {quantity(occupancy['sharedMemory'], 'B')} of shared "
        "memory for each tile block",
    ]


def _waves(waves: dict[str, Any]) -> list[str]:
    count, last = waves["waves"], f"{waves['tail']:.0%} full"
    text = f"{waves['blocks']} tile blocks, {waves['atOnce']} at once: "
    text += f"1 wave, {last}" if count == 1 else f"{count} waves, the last {last}"
    return [text, *([waves["reason"]] if waves["reason"] else [])]
