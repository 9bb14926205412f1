"""TTIR, the language that Triton compiles: types, names, text."""
