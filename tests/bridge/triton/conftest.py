"""Tests of Triton kernels need Triton and torch; the kernels are in a module that imports both."""

from __future__ import annotations

import pytest

pytest.importorskip("triton", reason="Triton is not installed")
pytest.importorskip("torch", reason="torch is not installed")
