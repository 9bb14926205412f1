"""What changes whole programs: one pass per file, each a plain function that begins with its model in prose."""
