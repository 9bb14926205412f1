"""Commands that read, check, change, compare and explain programs; `reporting.py` writes findings of check and lint."""
