"""Verdicts of tests by the digest of the candidate; on request in a directory, so that a search can resume."""

from __future__ import annotations

import json
import os
from typing import BinaryIO

from tileir.ir.diagnostics import OptionError

_FORMAT = 1


class Verdicts:
    """Verdicts in memory."""

    def __init__(self) -> None:
        self._known: dict[bytes, bool] = {}

    def get(self, digest: bytes) -> bool | None:
        return self._known.get(digest)

    def put(self, digest: bytes, verdict: bool) -> None:
        self._known[digest] = verdict

    def save_best(self, data: bytes) -> None:
        """Keep the best program so far where a user finds it; in memory there is no such place."""

    def close(self) -> None:
        """Release the file of verdicts, if there is one."""


class StoredVerdicts(Verdicts):
    """Verdicts in a directory: `about.json` describes the reduction, `verdicts` has a line for each; and `best`.

    A line that a kill cuts off is dropped, and its candidate is tested again.
    """

    def __init__(self, directory: str, about: dict[str, str]) -> None:
        super().__init__()
        self._directory: str = directory
        try:
            os.makedirs(directory, exist_ok=True)
            self._check(about)
            self._read()
            self._file: BinaryIO = open(self._path("verdicts"), "ab", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise OptionError(f"cannot keep the state of the reduction in '{directory}': {error.strerror}") from None

    def _path(self, name: str) -> str:
        return os.path.join(self._directory, name)

    def _check(self, about: dict[str, str]) -> None:
        expected = {"format": str(_FORMAT), **about}
        try:
            with open(self._path("about.json"), encoding="utf-8") as file:
                found = json.load(file)
        except FileNotFoundError:
            _write(self._path("about.json"), (json.dumps(expected, indent=1, sort_keys=True) + "\n").encode())
            return
        except (ValueError, RecursionError):
            found = None
        if found != expected:
            different = [key for key in expected if not isinstance(found, dict) or found.get(key) != expected[key]]
            raise OptionError(
                f"'{self._directory}' holds the state of another reduction (another {', '.join(different) or 'kind'}): "
                "give another directory, or remove this one"
            )

    def _read(self) -> None:
        try:
            with open(self._path("verdicts"), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            os.truncate(self._path("verdicts"), whole)
        for line in data[:whole].splitlines():
            digest, _, verdict = line.partition(b" ")
            try:
                self._known[bytes.fromhex(digest.decode("ascii"))] = verdict == b"1"
            except ValueError:
                continue

    def put(self, digest: bytes, verdict: bool) -> None:
        super().put(digest, verdict)
        self._file.write(b"%s %d\n" % (digest.hex().encode(), verdict))

    def save_best(self, data: bytes) -> None:
        _write(self._path("best"), data)

    def close(self) -> None:
        self._file.close()


def _write(path: str, data: bytes) -> None:
    """Replace a file as a whole."""
    beside = path + ".new"
    with open(beside, "wb") as file:
        file.write(data)
    os.replace(beside, path)
