"""What a file of results says: a table, failures grouped by cause, a page.

entries.py     each item of the file, as much of it as a report needs
clusters.py    kinds of failures; suspects.py: which operation is to blame where results differ
contents.py    all of it together
comparison.py  what is better and worse than in an older file
source.py      a program as text; programs.py: one shown whole, those that failed as files

tables.py      tables for a terminal and for Markdown
text.py        the report in words; documents.py: JSON, CSV, Markdown, SARIF and JUnit's XML
page.py        the page, with `assets/`
reporting.py   `tileir.report`: all of it from Python
"""
