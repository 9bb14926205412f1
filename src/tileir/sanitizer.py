"""Find errors in a launch: races, missing tokens, wild addresses, NaNs (docs/tools/sanitizer.md).

>>> from tileir.sanitizer import Coverage, Finding, NumberWatch, Sanitizer
>>> racy = tileir.compile("examples/racy.mlir")
>>> for watch in (Sanitizer(), Coverage(), NumberWatch()):
...     racy.launch(4, (numpy.ones(512, "i4"), numpy.zeros(1, "i4"), 512), observer=watch)
...     print(type(watch.report).__name__, watch.report.kinds)
SanitizerReport ['race', 'race']
SanitizerReport []
SanitizerReport []
"""

from tileir.public import publish

publish(__name__)
