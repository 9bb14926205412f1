"""Judging one program, inside a child process: the steps of a plan, one after the other.

work.py        what a child is given, and how it tells what comes of it
failures.py    what an exception means for a step
parts.py       which children judge an item, and what each of them does
programs.py    the steps for a program
launches.py    what its kernels are run with, and one run
agreement.py   results of two engines side by side
"""
