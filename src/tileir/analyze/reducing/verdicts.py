"""Verdicts of tests by the digest of the candidate; on request in a directory, so that a search can resume."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import BinaryIO

from tileir.ir.diagnostics import OptionError

_FORMAT = 1


class Verdicts:
    """Verdicts in memory, and with a directory also in files.

    There, `about.json` describes the reduction, `verdicts` has a line for each, and `best` is the best program so far.
    A line that a kill cuts off is dropped, and its candidate is tested again.
    """

    def __init__(self, directory: str | None = None, about: Mapping[str, str] | None = None) -> None:
        self._known: dict[bytes, bool] = {}
        self._directory: str | None = directory
        self._file: BinaryIO | None = None
        if directory is None:
            return
        try:
            os.makedirs(directory, exist_ok=True)
            self._check(directory, {"format": str(_FORMAT), **(about or {})})
            self._file = open(os.path.join(directory, "verdicts"), "a+b", buffering=0)  # noqa: SIM115
            self._read(self._file)
        except OSError as error:
            raise OptionError(f"cannot keep the state of the reduction in '{directory}': {error.strerror}") from None

    def _check(self, directory: str, expected: dict[str, str]) -> None:
        path = os.path.join(directory, "about.json")
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        except FileNotFoundError:
            _write(path, (json.dumps(expected, indent=1, sort_keys=True) + "\n").encode())
            return
        except (ValueError, RecursionError):
            found = None
        if found != expected:
            different = [key for key in expected if not isinstance(found, dict) or found.get(key) != expected[key]]
            raise OptionError(
                f"'{directory}' holds the state of another reduction (another {', '.join(different) or 'kind'}): "
                "give another directory, or remove this one"
            )

    def _read(self, file: BinaryIO) -> None:
        file.seek(0)
        data = file.read()
        file.truncate(data.rfind(b"\n") + 1)
        for line in data.split(b"\n")[:-1]:
            digest, _, verdict = line.partition(b" ")
            with suppress(ValueError):
                self._known[bytes.fromhex(digest.decode("ascii"))] = verdict == b"1"

    def get(self, digest: bytes) -> bool | None:
        return self._known.get(digest)

    def put(self, digest: bytes, verdict: bool) -> None:
        self._known[digest] = verdict
        if self._file is not None:
            self._file.write(b"%s %d\n" % (digest.hex().encode(), verdict))

    def save_best(self, data: bytes) -> None:
        """Keep the best program so far where a user finds it; in memory there is no such place."""
        if self._directory is not None:
            _write(os.path.join(self._directory, "best"), data)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _write(path: str, data: bytes) -> None:
    """Replace a file as a whole."""
    beside = path + ".new"
    with open(beside, "wb") as file:
        file.write(data)
    os.replace(beside, path)
