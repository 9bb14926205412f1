"""Reports on a file of results: a table, failures grouped by cause, a page.

contents.py    each item of the file, as much of it as a report needs, and all together, with the kinds of failures
suspects.py    which operation is to blame where results differ
comparison.py  what is better and worse than in an older file
programs.py    a program shown whole, those that failed as files

text.py        the report as text, and tables for a terminal and for Markdown
documents.py   JSON, CSV, Markdown, SARIF and JUnit's XML
page.py        the page, with `assets/`
reporting.py   `tileir.sweeps.report`: all of it from Python
"""
