"""A program in each of its forms, from the script to machine code; every line knows the operations it comes from.

forms.py lists and makes them, also those of the passes of the optimizer; form.py is one of them, with the numbers of
operations that link lines; source.py makes the source, engines the others.
"""
