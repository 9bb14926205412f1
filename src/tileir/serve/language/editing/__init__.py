"""Changing a program.  Each module is built on those above it:

layout         a whole text laid out, by edits between its tokens; needs no package beyond tileir
fixes          proposals for each kind of error
code_actions   trials of fixes; quick fixes, rewrites and formatting for an editor
"""
