"""The explorer: a page that shows what a kernel does.

The page sends questions to `Explorer.answer`: `questions.py` has the table of questions, `assets/types.d.ts` what each
answer holds.  A page with a server fetches answers from it, an exported one carries them inside; the page is the same.

Begin with `exploring.py` (`tileir.explore`), then `opening.py`, which puts the parts together that answer.
"""
