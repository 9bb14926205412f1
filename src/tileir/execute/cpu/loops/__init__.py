"""The loop form: what lowering writes, emission reads and `--dump loops` shows."""
