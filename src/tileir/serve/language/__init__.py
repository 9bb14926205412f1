"""The language server: features of an editor for tile programs while they are written (docs/tools/lsp.md).

    document/     a text that an editor changes: syntax tree, names, analysis, statements and their formats
    completion/   the cursor, completion, snippets, signature help
    navigation/   hover, definitions, references, renaming, outline, folding, semantic tokens, inlay hints
    editing/      layout (also for `tileir format`), quick fixes and their trials, code actions
    cutile/       the same for cuTile scripts
    proving.py    the action that proves a kernel, by `tileir prove` in a process of its own
    server.py     the documents of one editor, their diagnostics, and the table of features: begin here
    connection.py JSON-RPC over standard input and output or TCP

Offsets count characters everywhere but in messages.  Features return the types of `lsprotocol`.
"""
