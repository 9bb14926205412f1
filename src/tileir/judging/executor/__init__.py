"""A sweep: many items judged, on this machine or on many, into a file of results.

sweep.py      `sweep`, and its result
scheduler.py  the loop: items in, chunks out to workers, verdicts into the file; its progress
executors.py  who judges chunks: threads of this process, any executor, or a Dask cluster
"""
