"""Watching a launch in the interpreter.

observer.py  the interface of an observer, and several at once; begin here
trace.py     each value that one tile block computes, as text
"""
