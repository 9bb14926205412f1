"""Commands that read, check, change and print programs; `reporting.py` writes the findings of check and lint."""
