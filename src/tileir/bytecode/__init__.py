"""The binary form: primitives, container, the two layouts, reader, writer, annotated dump."""
