"""Ten thousand seeds: `make test-long`.  `tests/analyze/smith/seeds.py` runs them from the command line."""

from __future__ import annotations

import pytest
from tests.analyze.smith.seeds import assembler_path, check_seed


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, 10_000, 100))
def test_ten_thousand_seeds(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE", "0")
    tool = assembler_path()
    failed = {
        seed: mistake
        for seed in range(start, start + 100)
        if (mistake := check_seed(seed, tool if seed % 20 == 0 else None))
    }
    assert failed == {}
