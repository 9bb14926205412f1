"""The programs of a file of results as texts and files: one shown whole, those that failed extracted.

Names come from files, archives and whoever wrote the programs: of each only letters that are safe everywhere are used
in the name of a file.
"""

from __future__ import annotations

import json
import os
import re

from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import harmless
from tileir.judging.errors import ResultsError, message_of
from tileir.judging.model import content_of, ending_of, text_of
from tileir.judging.report.contents import Contents, FailureKind, counted
from tileir.judging.report.text import Paint, plain, steps_of
from tileir.judging.results.results import ResultRow, Results, finite

_MOST_NAMES = 8
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80


def digest_named(contents: Contents, name: str) -> str:
    """The digest that a name, the beginning of a digest, or a kind of failure (its smallest program) stands for."""
    entries = contents.programs
    exact = [entry.digest for entry in entries if name in entry.names or name == entry.digest]
    exact += [kind.reproducer or kind.smallest.digest for kind in contents.kinds if name == kind.key]
    if exact:
        return exact[0]
    found = {entry.digest for entry in entries if len(name) >= 4 and entry.digest.startswith(name)}
    found = found or {entry.digest for entry in entries if any(each.endswith(f"/{name}") for each in entry.names)}
    if len(found) == 1:
        return found.pop()
    if found:
        raise ResultsError(f"'{name}' may be any of {len(found)} programs of '{contents.path}': give more of it")
    raise ResultsError(f"'{contents.path}' has no program '{name}': give a name, a digest, or a kind of failure")


def shown(results: Results, digest: str, paint: Paint = plain) -> str:
    """A program with everything that is known of it."""
    row = results.row(digest)
    item = results.item(digest)
    try:
        source = text_of(content_of(item)[0])
    except (TileIRError, ValueError, TypeError) as error:
        source = f"// it cannot be made again: {error}"
    output, reproducer = results.output(digest), results.reproducer(digest)
    texts = {"Output": output} if output.strip() else {}
    texts["Program" if item.kind != "kernels" else "Module"] = source
    if reproducer is not None:
        content, note = reproducer
        texts[f"Reproducer ({note})" if note else "Reproducer"] = text_of(content) if content is not None else ""
    parts = [
        f"{paint(harmless(title), 'title')}\n{harmless(text.expandtabs(), keep=chr(10)).rstrip()}"
        for title, text in texts.items()
    ]
    return "\n\n".join([_head(row, paint), _steps(row, paint), *parts])


def row_object(results: Results, digest: str) -> str:
    """The same, as JSON; contents that are no text are left out."""
    row = results.row(digest)
    content, note = results.reproducer(digest) or (None, "")

    def measured(values: dict[str, float]) -> dict[str, float | None]:
        return {name: finite(value) for name, value in values.items()}

    found = {
        **{name: getattr(row, name) for name in ("names", "digest", "kind")},
        "bytes": row.size,
        **{name: getattr(row.verdict, name) for name in ("outcome", "cause")},
        "steps": [
            {"step": step.name, **{name: getattr(step, name) for name in ("outcome", "message", "cause", "details")}}
            | {"measured": measured(step.measured)}
            for step in row.verdict.steps
        ],
        "measured": measured(row.verdict.measured),
        "output": results.output(digest),
        "source": text_of(content_of(results.item(digest))[0]),
        "reproducer": text_of(content) if content is not None else None,
        "note": note,
    }
    return json.dumps(found, indent=1)


def _head(row: ResultRow, paint: Paint) -> str:
    lines = [f"{paint(harmless(row.name), 'title')}: {paint(row.verdict.outcome, row.verdict.outcome)}"]
    if others := row.names[1:]:
        more = f" and {len(others) - _MOST_NAMES:,} more" if len(others) > _MOST_NAMES else ""
        lines.append(f"also {', '.join([harmless(name) for name in others[:_MOST_NAMES]])}{more}")
    kind = {"program": "a program", "cpp": "a C++ source", "seed": "a program of tileir smith"}
    kind["kernels"] = "a module of kernels"
    lines.append(f"{kind.get(row.kind, row.kind)}, {row.size:,} bytes, digest {row.digest}")
    measured = row.verdict.measured
    if "seconds" in measured:
        peak = f", {measured['peak_bytes'] / (1 << 20):,.0f} MiB" if measured.get("peak_bytes") else ""
        lines.append(f"{measured['seconds']:.3f} seconds{peak}")
    return "\n".join(lines)


def _steps(row: ResultRow, paint: Paint) -> str:
    lines = [paint("Steps", "title")]
    width = max([len(step.name) for step in row.verdict.steps], default=0)
    for step in row.verdict.steps:
        seconds = f"  {step.measured['seconds']:.3f} s" if "seconds" in step.measured else ""
        lines.append(f"  {harmless(step.name):{width}}  {paint(step.outcome, step.outcome)}{seconds}")
        lines.extend([f"      {harmless(line.expandtabs())}" for line in step.message.splitlines()])
        for key, value in step.details.items():
            text = value if isinstance(value, str) else json.dumps(value)
            lines.append(f"      {harmless(key)}: {harmless(text[:200])}{'...' if len(text) > 200 else ''}")
    return "\n".join(lines)


def extract(results: Results, contents: Contents, directory: str) -> int:
    """Write the programs that failed; return the number of files."""
    try:
        # `3f2a91c0-compare-failed`
        names = [f"{kind.key}-{safe(kind.verb or 'start')}-{kind.outcome}" for kind in contents.kinds]
        folders = [os.path.join(directory, name) for name in names]
        return sum([_extract(results, *each) for each in zip(contents.kinds, folders, strict=True)])
    except OSError as error:
        raise ResultsError(f"cannot write '{error.filename or directory}': {message_of(error)}") from None


def safe(name: str) -> str:
    """A name for a file: no directories, nothing that a shell or a system takes for more."""
    return _UNSAFE.sub("_", name).lstrip(".-")[-_LONGEST:] or "program"


def _extract(results: Results, cluster: FailureKind, folder: str) -> int:
    os.makedirs(folder, exist_ok=True)
    lines = [f"{steps_of(cluster)}: {cluster.outcome}", cluster.title, "", cluster.message]
    lines += ["", f"{counted(cluster.count, 'program')}, the smallest first:"]
    count = 1
    used: set[str] = set()
    for entry in cluster.entries:
        try:
            content, ending = content_of(results.item(entry.digest))
        except (TileIRError, ValueError, TypeError) as error:
            lines.append(f"{entry.name}: it cannot be made again: {error}")
            continue
        stem = safe(entry.name.removesuffix(ending))
        # Names that differ only in case, or in characters that are not safe, get a digest of their contents.
        if stem.lower() in used or stem.lower() in ("readme", "reproducer"):
            stem = f"{stem}-{entry.digest[:8]}"
        used.add(stem.lower())
        _write(os.path.join(folder, stem + ending), content)
        lines.append(f"{stem}{ending}  {entry.name}" if stem + ending != entry.name else entry.name)
        count += 1
    reproducer, _ = (results.reproducer(cluster.reproducer) if cluster.reproducer else None) or (None, "")
    if reproducer is not None:
        _write(os.path.join(folder, "reproducer" + ending_of(reproducer)), reproducer)
        count += 1
    _write(os.path.join(folder, "README.txt"), ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))
    return count


def _write(path: str, content: bytes) -> None:
    # Never through a link that is there already.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags, 0o666), "wb") as file:
        file.write(content)
