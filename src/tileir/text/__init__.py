"""The text form of programs: reading and printing, both driven by the declarations of operations.

Begin with `reading.py` (text into a module, operation by operation) and `printer.py` (operations into text).

- tokens: `lexer.py`, `cursor.py`
- types and aliases, attributes: `types.py`, `dialect_types.py`, `attributes.py`, `dense.py`, `locations.py`
- values, blocks and regions: `values.py`, `parser.py`; `state.py` has what was read of one operation
- ways to write a statement: `statement_form.py` (operands and types; quoted), `syntax/` (directives)
- printing: `names.py` (of values), `output.py` (what directives print to, aliases of locations)
- `edits.py`: reading again after an edit; `listing.py`: texts by lines
"""
