"""Kernels through Triton's frontend: their tests need Triton and torch."""

from __future__ import annotations

import pytest

pytest.importorskip("triton", reason="Triton is not installed")
pytest.importorskip("torch", reason="torch is not installed")
