"""`tileir.sweeps.report`: the report on a file of results, from Python."""

from __future__ import annotations

import os

from tileir.judging.report.comparison import SweepComparison, compared
from tileir.judging.report.contents import Contents
from tileir.judging.report.documents import csv_report, json_report, junit_report, markdown_report, sarif_report
from tileir.judging.report.page import page
from tileir.judging.report.text import text_report
from tileir.judging.results.results import Results
from tileir.whole_files import write_file


class SweepReport(Contents):
    """What a sweep found; made by `tileir.sweeps.report`.

    `programs` are all that were judged, `kinds` the kinds of failures, the most frequent first; `counts` has how many
    programs came to which outcome.
    """

    def __init__(self, path: str, plan: str | None = None) -> None:
        with Results(path, plan) as results:
            super().__init__(results)

    json = json_report
    csv = csv_report
    sarif = sarif_report
    junit = junit_report

    def text(self, *, width: int = 0, limit: int = 20, measured: bool = True) -> str:
        """For a terminal of some width, 0 for any; at most `limit` kinds.  Without what was measured, the same results
        give the same text."""
        return text_report(self, width, most=limit, measured=measured)

    def markdown(self, *, limit: int = 20) -> str:
        return markdown_report(self, limit)

    def compare(self, older: SweepReport) -> SweepComparison:
        """What is better and what is worse than in an older one."""
        return compared(older, self)

    def write_page(self, path: str | os.PathLike[str], older: SweepReport | None = None) -> None:
        """Write the page that `tileir report --html` writes, with the changes since an older report."""
        with Results(self.path, self.plan or None) as results:
            write_file(path, page(results, self, self.compare(older) if older is not None else None).encode())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<SweepReport {self.summary}>"


def report(results: str | os.PathLike[str], *, plan: str | None = None) -> SweepReport:
    """Read a report from a file of results: kinds of failures, counts, and reports in several formats.

    `plan` is the digest of one of the file's plans, by default that of the latest sweep.
    """
    return SweepReport(os.fspath(results), plan)
