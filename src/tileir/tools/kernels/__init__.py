"""Commands that compile and run kernels, and show what they do."""
