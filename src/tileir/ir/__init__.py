"""The program model: what a program consists of, whatever its dialect.

Begin with `core.py` (operations, blocks, regions) and `values.py`.  Then:
- `types.py`, `attributes.py`, `dense.py`, `location.py`: what operations carry; one object for each value
  (`interning.py`, which also has the base classes), floats by their bits (`floats.py`).
- `declaration.py`: what is known of an operation, and what its verifier is given; `accessors.py`: parts of an
  operation by their declared names; `registry.py` finds declarations; `versions.py`: dialect versions.
- `verifier.py` checks programs; `diagnostics.py`: errors and their text.
- `symbols.py`: names of functions and globals; `traversal.py`: visit, copy and compare whole programs.
- `quoting.py`: strings in programs and on terminals.
"""
