"""Completion.  Each module is built on those above it:

operands     the types that a statement needs, and visible values that fit together
snippets     whole statements and clauses made of them, with placeholders
cursor       the statement and the word at the cursor; signature help
parts        completion inside a statement, by the parts of its format
completion   completion where a statement begins, of aliases and blocks; begin here
"""
