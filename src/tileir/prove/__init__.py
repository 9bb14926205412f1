"""Proofs about a kernel for every launch that its contract allows, without running it.  Read in this order:

records        what is asked, claimed and answered; needs nothing else of the package
terms          exact integer and Boolean expressions in a canonical form
element_rules  how the element of a result follows from elements of the operands
elements       one element of a value, as a term
walking        the operations of a kernel, with the loops around them and the conditions on their path
memory         accesses: which element of which array, where
stated         assumptions as people write them
inference      what the accesses of a kernel say about its launches
contract       the launches that a proof is about
token_paths    whether tokens order two accesses on every path
solving        terms given to z3; the only module that imports it
context        what the questions share
bounds         the question "bounds"
questions      all claims about a kernel

Whether two programs compute the same is another question, with its own terms: machine integers, which wrap.

integer_terms   what integer operations mean to the solver
value_graph     pure values of both programs, equal ones as one term
effects         a kernel as the effects it has, with their conditions
bit_vectors     elements of values for the solver
correspondence  proves that the effects of two kernels correspond
equivalence     the verdict; runs both programs where the proof fails
"""
