"""The text form of programs: reading and printing, both driven by the declarations of operations.

Begin with `reading.py` (text into a module) and `printer.py` (operations into text).

- tokens: `lexer.py`, `cursor.py`
- types and attributes: `types.py`, `dialect_types.py`, `dense.py`, `attributes.py`, `locations.py`
- values, blocks, regions, operations: `values.py`, `parser.py`, `operation_parser.py`; `generic.py`: the quoted form
- printing: `names.py` (of values), `aliases.py` (of locations), `output.py` (what directives print to)
- `syntax/`: the assembly formats, and their directives, which read and print
- reading again after an edit: `rereading.py`
"""
