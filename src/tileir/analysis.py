"""What `tileir.lint`, `prove`, `diff`, `reduce`, `explore` and `smith` return, and a program in each representation.

>>> from tileir.analysis import SMITH_FAMILIES, SMITH_STREAM, Representations
>>> difference = tileir.diff("examples/vector_add.mlir", tileir.optimize(module))
>>> (finding,) = tileir.lint(tileir.parse("entry @k(%x: tile<f32>) { %y = negf %x : tile<f32> return }"))
>>> heard = []
>>> reduction = tileir.reduce(module, lambda smaller: True, progress=heard.append)
>>> parts = [difference, difference.changes[0], difference.semantic(), finding, finding.fix, reduction, heard[0]]
>>> parts += [tileir.smith(7), Representations(module).get("tile"), tileir.explore(kernel, 8, args, html="page.html")]
>>> proof = tileir.prove("examples/vector_add.mlir")
>>> [type(part).__name__ for part in (proof, proof["bounds"], proof.contract[0])]
['Proof', 'Answer', 'Assumption']
>>> print(*[type(part).__name__ for part in parts[:6]])
ProgramDifference ProgramChange SemanticDifference LintFinding LintFix Reduction
>>> print(*[type(part).__name__ for part in parts[6:]], len(SMITH_FAMILIES), SMITH_STREAM)
ReductionProgress SmithProgram Representation Exploration 11 1
"""

from tileir.public import publish

publish(__name__)
