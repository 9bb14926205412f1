"""The sanitizer: every error a program makes while it runs, found and explained.

sanitizer.py: `Sanitizer`, the observer; begin here
ledger.py, report.py: the findings, their hints and their text
bounds.py, promises.py, integer_checks.py: accesses outside of memory, broken promises, undefined integer operations
conflicts.py, events.py, shadow.py: accesses that nothing orders, uninitialized reads, notes for GPUs
coverage.py, store_patterns.py: `Coverage`, elements that no store writes
number_watch.py: `NumberWatch`, which operations make a NaN or an infinity
uninitialized.py: memory that was allocated and never written
"""
