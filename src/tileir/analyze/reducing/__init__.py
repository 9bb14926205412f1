"""Programs made smaller while a test keeps succeeding.

The model:

1. A `Program` is a module and what belongs to it.  A candidate is a copy of the best program so far with one *edit*
   applied.  Edits address operations by their position in program order, so that the same edit means the same on any
   copy.
2. A *reducer* (`reducers.py` lists them) looks at a program and gives its edits in an order that is its own: big steps
   first.  It never asks the test.
3. The `Search` tries the edits of one reducer after the other until none of them helps.  Only a candidate that is
   simpler (`weights.py`: a total order, so the search ends), that verifies and that was not tested before is tested.
   The first candidate in order that is interesting is the next best program, however many are tested at a time: the
   result depends on the program and on the test, not on timing.
4. Verdicts are kept by the digest of the candidate, in memory and, on request, in a directory: a search that was killed
   takes the same way again without testing anything twice.
5. What is no valid program is reduced as text or as bytes (`texts.py`).
"""
