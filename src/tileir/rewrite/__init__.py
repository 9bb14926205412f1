"""Rewriting: the greedy driver, folds and patterns, facts about values.

Begin with `driver.py`, which applies folds and patterns until none matches, and `rewriter.py`, through which patterns
change a program.  Then:

* `matching.py`, `folds.py`, `if_patterns.py`: the rules of canonicalization, and their helpers;
* `cleanup.py`: dead code and duplicate constants;
* `simplifier.py`, `simplifier_rules.py`: the expression simplifier and its table of rules;
* `facts.py`: ranges, divisors and uniformity of values, on `fact.py` (one value) and `fact_rules.py` (one operation).
"""
