"""One program of a file of results, whole: its steps, what it printed, its source, its reproducer."""

from __future__ import annotations

import json

from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import harmless
from tileir.judge.errors import ResultsError
from tileir.judge.report.contents import Contents
from tileir.judge.report.programs import content_of, text_of
from tileir.judge.report.text import Paint, plain
from tileir.judge.results.results import Results, Row, finite

_MOST_NAMES = 8


def digest_named(contents: Contents, name: str) -> str:
    """The digest of the item that somebody means: by a name, a digest or its beginning, or a kind of failure, of which
    the smallest program is shown."""
    for entry in contents.entries:
        if name in entry.names or name == entry.digest:
            return entry.digest
    for cluster in contents.clusters:
        if name == cluster.key:
            return cluster.reproducer or cluster.smallest.digest
    found = [entry.digest for entry in contents.entries if len(name) >= 4 and entry.digest.startswith(name)]
    found = found or [entry.digest for entry in contents.entries for each in entry.names if each.endswith(f"/{name}")]
    if len(set(found)) == 1:
        return found[0]
    if found:
        raise ResultsError(f"'{name}' may be any of {len(set(found))} programs of '{contents.path}': give more of it")
    raise ResultsError(f"'{contents.path}' has no program '{name}': give a name, a digest, or a kind of failure")


def shown(results: Results, digest: str, paint: Paint = plain) -> str:
    """A program with everything that is known of it."""
    row = results.row(digest)
    parts = [_head(row, paint), _steps(row, paint)]
    output = results.output(digest)
    if output.strip():
        parts.append(_part("Output", output, paint))
    item = results.item(digest)
    try:
        source = text_of(content_of(item)[0])
    except (TileIRError, ValueError, TypeError) as error:
        source = f"// it cannot be made again: {error}"
    parts.append(_part("Program" if item.kind != "kernels" else "Module", source, paint))
    reproducer = results.reproducer(digest)
    if reproducer is not None:
        content, note = reproducer
        title = f"Reproducer ({note})" if note else "Reproducer"
        parts.append(_part(title, text_of(content) if content is not None else "", paint))
    return "\n\n".join(parts)


def row_object(results: Results, digest: str) -> str:
    """The same, as JSON; contents that are no text are left out."""
    row = results.row(digest)
    reproducer = results.reproducer(digest)
    found = {
        "names": row.names,
        "digest": row.digest,
        "kind": row.kind,
        "bytes": row.size,
        "outcome": row.verdict.outcome,
        "cause": row.verdict.cause,
        "steps": [
            {
                "step": step.name,
                "outcome": step.outcome,
                "message": step.message,
                "cause": step.cause,
                "details": step.details,
                "measured": _measured(step.measured),
            }
            for step in row.verdict.steps
        ],
        "measured": _measured(row.verdict.measured),
        "output": results.output(digest),
        "source": text_of(content_of(results.item(digest))[0]),
        "reproducer": text_of(reproducer[0]) if reproducer is not None and reproducer[0] is not None else None,
        "note": reproducer[1] if reproducer is not None else "",
    }
    return json.dumps(found, indent=1)


def _measured(values: dict[str, float]) -> dict[str, float | None]:
    return {name: finite(value) for name, value in values.items()}


def _head(row: Row, paint: Paint) -> str:
    lines = [f"{paint(harmless(row.name), 'title')}: {paint(row.verdict.outcome, row.verdict.outcome)}"]
    others = row.names[1:]
    if others:
        more = f" and {len(others) - _MOST_NAMES:,} more" if len(others) > _MOST_NAMES else ""
        lines.append(f"also {', '.join([harmless(name) for name in others[:_MOST_NAMES]])}{more}")
    kind = {"program": "a program", "seed": "a program of tileir smith", "kernels": "a module of kernels"}
    lines.append(f"{kind.get(row.kind, row.kind)}, {row.size:,} bytes, digest {row.digest}")
    measured = row.verdict.measured
    if "seconds" in measured:
        peak = f", {measured['peak_bytes'] / (1 << 20):,.0f} MiB" if measured.get("peak_bytes") else ""
        lines.append(f"{measured['seconds']:.3f} seconds{peak}")
    return "\n".join(lines)


def _steps(row: Row, paint: Paint) -> str:
    lines = [paint("Steps", "title")]
    width = max([len(step.name) for step in row.verdict.steps], default=0)
    for step in row.verdict.steps:
        seconds = f"  {step.measured['seconds']:.3f} s" if "seconds" in step.measured else ""
        lines.append(f"  {harmless(step.name):{width}}  {paint(step.outcome, step.outcome)}{seconds}")
        lines.extend([f"      {harmless(line.expandtabs())}" for line in step.message.splitlines()])
        lines.extend([f"      {harmless(key)}: {harmless(_value(value))}" for key, value in step.details.items()])
    return "\n".join(lines)


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _part(title: str, text: str, paint: Paint) -> str:
    return f"{paint(harmless(title), 'title')}\n{harmless(text.expandtabs(), keep=chr(10)).rstrip()}"
