"""The language server: what an editor asks about a tile program while it is being written (docs/editors.md).

Each module is built on those above it:

    structure   the tokens of a text, its operations and their regions, also where it is broken
    names       what is defined and used where
    syntax      both together
    analysis    what the parser, the verifier and lint say about it, with as little as possible done again after an edit
    document    a text that an editor changes: edits, lines, positions in the units of the protocol
    spacing, layout
                a text laid out, by edits between its tokens; also for `tileir format`, so without the protocol's types
    problems, misspellings, reprinting, remedies, trials
                what may be meant where there is a mistake, and whether it helps
    forms       the syntax line of an operation as a tree and an automaton
    statement   which part of its form each token of a statement is, and what may come next
    expected    the types that a statement needs, as the builder infers them
    choosing    visible values that fit the operands of an operation together
    snippets    statements to start with, made of them
    places      where the cursor is: in which statement, before which word
    hover, completion, signature, navigation, renaming, symbols, folding, colours, inlays, actions, formatting, ..
                one question of the protocol each: a function of a document (and a place in it)
    server      the server over standard input and output or TCP, on pygls

Places are offsets in characters everywhere but in what goes over the wire.  Answers are the protocol's own types
(`lsprotocol`), so that there is no second model of them.
"""
