"""Programs that failed, and their reproducers, as files: a directory for each kind of failure.

Names come from files, archives and whoever wrote the programs: of each only letters that are safe everywhere are used.
"""

from __future__ import annotations

import os
import re

from tileir.ir.diagnostics import TileIRError
from tileir.judge.errors import ResultsError
from tileir.judge.report.clusters import FailureKind
from tileir.judge.report.contents import Contents, counted
from tileir.judge.report.programs import content_of, ending_of
from tileir.judge.report.text import steps_of
from tileir.judge.results.results import Results
from tileir.judge.results.schema import message_of

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80


def extract(results: Results, contents: Contents, directory: str) -> int:
    """Write them; gives the number of files."""
    count = 0
    try:
        for cluster in contents.clusters:
            count += _extract(results, cluster, os.path.join(directory, folder_of(cluster)))
    except OSError as error:
        raise ResultsError(f"cannot write '{error.filename or directory}': {message_of(error)}") from None
    return count


def folder_of(cluster: FailureKind) -> str:
    """`3f2a91c0-compare-failed`."""
    return "-".join([cluster.key, safe(cluster.verb or "start"), cluster.outcome])


def safe(name: str) -> str:
    """A name for a file: no directories, nothing that a shell or a system takes for more."""
    found = _UNSAFE.sub("_", name).lstrip(".-")[-_LONGEST:]
    return found or "program"


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
        # Names that differ in what is not safe, or in capitals, are told apart by their contents.
        if stem.lower() in used or stem.lower() in ("readme", "reproducer"):
            stem = f"{stem}-{entry.digest[:8]}"
        used.add(stem.lower())
        _write(os.path.join(folder, stem + ending), content)
        lines.append(f"{stem}{ending}  {entry.name}" if stem + ending != entry.name else entry.name)
        count += 1
    if cluster.reproducer:
        found = results.reproducer(cluster.reproducer)
        if found is not None and found[0] is not None:
            _write(os.path.join(folder, "reproducer" + ending_of(found[0])), found[0])
            count += 1
    _write(os.path.join(folder, "README.txt"), ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))
    return count


def _write(path: str, content: bytes) -> None:
    # Never through a link that is there already.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags, 0o666), "wb") as file:
        file.write(content)
