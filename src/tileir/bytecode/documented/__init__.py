"""The layout of the bytecode draft, on the public one (docs/bytecode.md section 10)."""
