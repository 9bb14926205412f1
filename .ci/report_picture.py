"""Makes docs/pictures/report.png, the page of a real sweep: `python .ci/report_picture.py [CHROMIUM]`.

It sweeps the examples, the programs of the tests and some seeds, and takes a picture of the page in a browser, which
Playwright drives.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import tileir

ROOT = Path(__file__).parents[1]
SEEDS = 60
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def main(arguments: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    # So that names are relative, as a user has them.
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as directory:
        results, page = Path(directory) / "nightly.sqlite", Path(directory) / "page.html"
        inputs = ["examples", "tests/programs"]
        plan = tileir.sweeps.JudgePlan(backends=("interpreter", "cpu"), optimize=3, sanitize=True)
        tileir.sweep(inputs, results, seeds=range(SEEDS), plan=plan, reduce_seconds=20)
        report = tileir.sweeps.report(results)
        report.write_page(page)
        (race,) = [kind for kind in report.kinds if kind.smallest.name.endswith("racy.mlir")]
        with sync_playwright() as driver:
            program = arguments[0] if arguments else "/usr/bin/chromium"
            browser = driver.chromium.launch(executable_path=program, args=OPTIONS)
            window = browser.new_page(viewport={"width": 960, "height": 450})
            window.goto(f"{page.as_uri()}#view=kinds&kind={race.key}")
            window.get_by_role("option", selected=True).scroll_into_view_if_needed()
            target = ROOT / "docs" / "pictures" / "report.png"
            window.screenshot(path=target)
            browser.close()
    print(f"{target}: {target.stat().st_size:,} bytes; {report.summary}")


if __name__ == "__main__":
    main(sys.argv[1:])
