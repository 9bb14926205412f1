"""The cuda_tile dialect: its types, attributes and operations, and the builder.

Begin with `types.py` and one chapter of `ops/`, which has one declaration per operation.
- `enums.py`, `attributes.py` (predicates, hints, layouts), `debug_info.py`: attributes and their rules.
- `constraints.py`: what declarations are made of; `rules.py`: rules that several operations share; `availability.py`:
  what each dialect version has.
- `builder.py` creates operations from Python, with `construct.py` (types), `literals.py` (attributes), `signature.py`
  (arguments), `inference.py` (result types) and `scopes.py` (regions).
- `draft_formulas.py`: the functions that only the drafts have, as public operations.
"""
