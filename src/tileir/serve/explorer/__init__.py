"""The explorer: a page that shows what a kernel does.

The page asks, `Explorer.answer` answers: `assets/types.d.ts` has the questions and what each answer holds.  A page with
a server fetches answers from it, an exported one carries them inside; the page is the same.
"""
