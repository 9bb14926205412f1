"""The layout of the bytecode draft, on the public one (docs/reference/bytecode.md section 10).

Begin with `reader.py` and `writer.py`, which extend those of the public layout.  `tables.py` has enumerations, types,
debug attributes and pooled numbers; `attributes.py` the attributes by tag; `dictionary.py` the attribute table, whose
entries operations refer to.
"""
