"""The greedy driver, folds and patterns."""
