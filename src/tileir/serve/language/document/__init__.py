"""The document model.  Each module is built on those above it:

scanner    operations and regions of any text, from its tokens; updated after an edit
tree       the syntax tree of any text: tokens, operations, regions, values, symbols, blocks, aliases
analysis   what the parser, the verifier and lint report, and the program that was read
document   a text with its edits, and positions in the units of the protocol
statement  the assembly format of an operation, and the part of it that each token of a statement is
"""
