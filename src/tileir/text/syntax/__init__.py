"""The assembly format of each operation, and the directives that it is made of.

`format.py` describes the language of formats and compiles the format of a declaration into directives, once.  A
directive (`directive.py`) parses itself with a `Parser` and prints itself to a `TextOutput`.  Begin with these two.

- `attribute_directives.py`: values, flags, keywords and dictionaries of attributes
- `structure.py`: modules, functions, globals, constants; if, for, loop
- `views.py`: making views; loading, storing and reducing through them
- `aggregates.py`: reduce, scan, assume, print, comparisons, casts, atomics
- `draft_spellings.py`: what only the drafts write
"""
