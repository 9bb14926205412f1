"""How the work of a tile block is laid out on a GPU: warps, stages, TMA.

features.py    what matters of a program
model.py       the rules that choose a schedule: begin here
candidates.py  other schedules, for a search and where Triton makes no code
search.py      the search for a faster one, on the launch that it is for
trial.py       code that is tried in a process of its own; trial_process.py is that process
"""
