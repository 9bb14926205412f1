"""Two runs of a kernel side by side.

compare.py is `tileir.recording.compare`; comparison.py has what all comparisons share.  On the right of a recording is
another recording (recordings.py), another engine (engine_run.py: the kernel writes its values down), or the same run in
a wider float type (compare.py; shadow.py follows the run, widened.py computes one operation again).
"""
