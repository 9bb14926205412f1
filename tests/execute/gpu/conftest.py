"""Fixtures of the tests of GPU engines."""

from tests.execute.gpu.fake_assembler import assembler

__all__ = ["assembler"]
