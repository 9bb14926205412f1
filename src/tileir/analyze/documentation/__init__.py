"""The documentation of the dialect: for `tileir explain`, docs/reference/operations and hovering in an editor.

grammar             the syntax of an operation as a line a person reads
examples            the examples of the declarations, as whole programs and in Python
pages               what a page holds, and the pages of operations
vocabulary          everything that can be explained by name
numbers             what a number in bytecode means
markdown            pages as Markdown
plain_text          pages as text, for a terminal
"""
