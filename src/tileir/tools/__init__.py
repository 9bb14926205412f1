"""The command line: one file per subcommand, and the drop-ins for NVIDIA's tools."""
