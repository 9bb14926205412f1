"""The process that runs Triton: its compiler may abort, and takes a second to import."""
