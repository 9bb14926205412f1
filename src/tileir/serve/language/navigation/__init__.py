"""Reading a program.  One module for each group of features, all functions of a document:

references   definitions, references, highlights, linked editing, renaming
outline      symbols of a document and of a workspace, folding, growing selections
hover        values, operations, types, keywords and numbers in Markdown
decorations  semantic tokens and inlay hints
"""
