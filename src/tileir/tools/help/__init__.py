"""Commands that explain, and that serve editors and shells."""
