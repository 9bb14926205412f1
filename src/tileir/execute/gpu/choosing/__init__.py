"""Which of the engines for GPUs runs a launch that names none: the faster one, by measurement.

repeatable.py     whether a launch can be made several times, and which arrays are to be put back for that
measuring.py      how long the codes of several engines take for a launch
kept_choices.py   what was chosen, on disk
kernel.py         kernels with the codes of several engines
engine.py         the choice as an engine

The first launch of its kind is measured before it is made: its code by each engine runs on the arrays of the launch,
which are put back in between where the kernel reads what it writes, and then the launch itself by the faster one.  So
results come from one engine from the first launch on, and nobody sees those of the other.
"""
