"""The file of results: an SQLite database (docs/tools/sweep.md describes its tables for users).

tables.py   the columns of each table: schema and INSERT statements derive from them; opening a file of a stranger
store.py    `Store`: writing verdicts, each whole or not at all; one process at a time
results.py  `Results`: reading, while the file is being written too
"""
