"""Whether a program computes the same as another one for all inputs.  Read in this order:

value_graph     pure values of both programs, equal ones as one term; integers wrap
value_rules     the term of an operation
trace           what a kernel does, as plain data
promises        what the definedness of a value depends on
effects         a kernel as the effects it has, with their conditions
integer_terms   what integer operations mean to the solver
bit_vectors     elements of values for the solver
equal_values    whether two values are equal
correspondence  proves that the effects of two kernels correspond
verdict         the answer; runs both programs where the proof fails
"""
