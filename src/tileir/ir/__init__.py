"""The program model: what a program consists of, whatever its dialect.

Begin with `core.py` (operations, blocks, regions) and `values.py`.  Then:
- `types.py`, `attributes.py`, `enums.py`, `dense.py`, `location.py`: what operations carry; one object for each value
  (`interning.py`), floats by their bits (`floats.py`).
- `declaration.py`: what is known of an operation; `registry.py` finds declarations; `versions.py`: dialect versions.
- `verifier.py` checks programs and gives each verifier a `verify_context.py`; `diagnostics.py`: errors and their text.
- `symbols.py`: names of functions and globals; `traversal.py`: visit, copy and compare whole programs.
- `hooks.py`: what layers above do for these classes; `quoting.py`: strings in programs and on terminals.
"""
