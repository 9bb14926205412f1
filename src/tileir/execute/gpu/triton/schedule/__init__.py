"""How the work of a tile block is laid out on a GPU: warps, stages, TMA.

features.py    what matters of a program
model.py       the rules that choose a schedule: begin here
search.py      the search for a faster one, on the launch that it is for
trial.py       the process that launches a candidate with specialized warps first
"""
