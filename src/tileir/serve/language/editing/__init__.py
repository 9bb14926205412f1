"""Changing a program.  Each module is built on those above it:

layout         a whole text laid out, by edits between its tokens; needs no package beyond tileir
fixes          proposals for each kind of error
quick_fixes    trials of fixes, and those that help as editors and commands show them; needs no package either
code_actions   quick fixes, rewrites and formatting for an editor
"""
