"""In which mode the kernels of a module that is judged are run."""

from __future__ import annotations

import pytest

pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")

from tileir.judging.kernels import launches


@pytest.mark.parametrize(("backend", "exact"), [("auto", True), ("cpu", True), ("interpreter", False)])
def test_what_is_judged_does_not_depend_on_the_processor(
    backend: str, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    monkeypatch.setattr(launches, "fill_fresh_memory", lambda: None)
    monkeypatch.setattr(launches, "emulate_process", lambda settings, *_: found.append(settings))
    launches.emulate(backend, launches.Launches(0, ""))
    assert [(each.backend, each.exact, each.fast) for each in found] == [(backend, exact, False)]
