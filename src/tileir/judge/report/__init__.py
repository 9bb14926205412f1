"""What a file of results says: a table, failures grouped by cause, a page.

entries.py       each item of the file, as much of it as a report needs
features.py      what is in a program: operations, their types and attributes
suspects.py      which operation is to blame where results differ
clusters.py      kinds of failures
contents.py      all of it together
comparison.py    what is better and worse than in an older file

columns.py       tables in a terminal; text.py: the report in words
documents.py     JSON, CSV and Markdown; scanning.py: SARIF; junit.py: what build servers read
page.py          the page, with `assets/`
showing.py       one program whole; extracting.py: programs and reproducers as files
"""
