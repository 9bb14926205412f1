"""Every error and warning of tileir; those that most programs catch are in `tileir` too.

>>> try:
...     tileir.load(b"entry @k() { %x = negf %y : tile<i32> return }")
... except tileir.TileIRError as error:
...     print(type(error).__module__, type(error).__name__, len(error.diagnostics), error.message)
tileir.errors ParseError 1 use of undeclared SSA value name '%y'
"""

from tileir.public import publish

publish(__name__)
