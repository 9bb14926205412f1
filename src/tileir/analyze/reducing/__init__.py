"""Programs made smaller while a test keeps succeeding.

1. A `Program` (program.py) is a module and its launch.  A candidate is a copy of the best program so far with one
   *edit* applied.
2. A *pass* takes a program and yields its edits, big steps first.  reduce.py has the table of passes, which are in
   removal.py, control_flow.py, simplification.py and shapes.py, and the driver that runs them until none helps.  A pass
   never runs the test.
3. The `Search` (search.py) tests a candidate only if it is simpler (`weight`: a total order, so the search ends), if
   it verifies and if it was not tested before.  The first interesting candidate in order is the next best program,
   however many are tested at a time: the result depends on the program and on the test, not on timing.
   It keeps verdicts by the digest of the candidate, in memory and, on request, in a directory.
4. Tests (candidate_tests.py) run a command, or answer a question in a child process; some are ready-made.
   interest.py makes the test for the command line of `tileir reduce`, and explains why the original is not interesting.
5. contents.py reduces files that are no valid programs as text or as bytes.
"""
