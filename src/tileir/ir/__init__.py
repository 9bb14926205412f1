"""What a program is: values, operations, blocks, regions, types, attributes, locations, diagnostics."""
