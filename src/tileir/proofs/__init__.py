"""Proofs about a kernel for every launch that its contract allows, without running it.  Read in this order:

records        questions, claims and answers; needs nothing else of the package
symbolic/      values, accesses and paths of a kernel as exact terms
contract/      the launches that a proof is about: stated, read from a script, or inferred
solving        terms given to z3; the only module that imports it
questions/     bounds, races, coverage and the others: claims about a kernel
confirming     proposed launches, run under the sanitizer: what they find refutes a claim
report         the answers, as text, JSON and diagnostics
prover         all of it: `tileir.prove`

Whether two programs compute the same is another question, with terms of its own: `equivalence/`.
"""
