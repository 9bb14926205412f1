"""Changing a program.  Each module is built on those above it:

layout         a whole text laid out, by edits between its tokens; needs no package beyond tileir
fixes          proposals for each kind of error
trials         whether a fix helps: the functions that it changes are read and verified with it
code_actions   quick fixes, rewrites and formatting for an editor
"""
