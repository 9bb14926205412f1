"""Proofs about a kernel for every launch that its contract allows, without running it.  Read in this order:

records      what is asked, claimed and answered; z3 and the rest of the package are not needed to read it
terms        exact integer and Boolean expressions in a canonical form
elements     one element of a tile value, as a term
walking      the accesses of a kernel, with the loops around them and the conditions on their path
contract     what launches a proof is about: stated, assumed by the program, or inferred
memory       accesses as boxes in arrays
questions    the claims: bounds, races, tokens, coverage, termination, overflow, division, asserts
solving      terms given to z3; the only module that imports it
"""
