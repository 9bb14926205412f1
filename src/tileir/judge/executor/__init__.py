"""A sweep: many items judged, on this machine or on many, into a file of results.

sweep.py      `sweep`; progress.py: its progress and its result
scheduler.py  the loop: items in, chunks out to workers, verdicts into the file
executors.py  who judges chunks: threads of this process, or any executor; what a worker does
dask.py       the workers of a Dask cluster
"""
