"""The text form of programs: reading and printing, both driven by the declarations of operations.

Begin with `reading.py` (text into a module) and `printer.py` (operations into text).

- tokens: `lexer.py`, `cursor.py`
- types and attributes: `types.py`, `dialect_types.py`, `dense.py`, `attributes.py`, `locations.py`
- values, blocks and regions, operations: `values.py`, `parser.py`, `operation_parser.py`
- ways to write a statement: `statement_form.py` (operands and types), `syntax/` (directives), `generic.py` (quoted)
- printing: `names.py` (of values), `aliases.py` (of locations), `output.py` (what directives print to)
- `edits.py`: reading again after an edit; `listing.py`: texts by lines
"""
