"""The search for a faster schedule than the model's, on the launch that it is for.

kept_schedules.py  what was found, on disk
agreement.py       whether two codes of a kernel have computed the same
trial.py           a code that may never end, tried in a process of its own; trial_process.py is that process
tuning.py          what a search has seen
search.py          the search: candidates are compiled, checked against the default and timed beside it
"""
