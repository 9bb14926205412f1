"""A kernel as exact terms.

terms          integer and Boolean expressions in a canonical form
traversal      the parts of terms, and terms with other parts
term_text      terms as messages show them
elements       one element of a value, as a term
element_rules  how the element of a result follows from elements of the operands
integer_rules  the same for elementwise operations
views          tensors and the tiles over them
walking        the operations of a kernel, with the loops around them and the conditions on their path
memory         accesses: which element of which array, where
token_paths    whether tokens order two accesses on every path
"""
