"""What comes of judging an item, and the steps that a child process does for a program.

causes.py      what failures are clustered by: messages without the names, numbers and places of one program
work.py        `Work`: what a child is given, how it reports, and what exceptions and ends of processes mean for a step
launches.py    the program of an item, its launches, what their arrays hold then, results of two engines side by side
programs.py    the steps of a plan: check, optimize, run, compare, sanitize, compile, cost
"""
