"""Where operations come from, and how messages name them.

source_locations.py   the location to report: the line of the user's script or program; begin here
python_source.py      the Python that a location points into: expressions, statements, names
script.py             the expression of a script that each operation computes; messages for its author
wording.py            numbers, indices and tile blocks as messages spell them; names of arguments
program_text.py       names in the text of a tile program
llvm_line_numbers.py  line numbers through LLVM
"""
