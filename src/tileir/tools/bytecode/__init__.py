"""Commands that translate, compile and run programs."""
