"""The sanitizer: every mistake a program makes while it runs, found and explained.

`Sanitizer` is an observer; the families of findings are in `bounds`, `conflicts`, `promises`, `numbers` and
`failures`, each in a file of its own.  `Coverage` is another, for what a kernel leaves unwritten.
"""
