"""A program in each of its forms, from the script to machine code; every line knows the operations it comes from.

forms.py lists and makes them; form.py is one of them, with the numbers of operations that link lines; source.py and
steps.py (the passes of the optimizer) make theirs, engines the others.
"""
