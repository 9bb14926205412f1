"""The language server, the documentation and completion in shells."""
