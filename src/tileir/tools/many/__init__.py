"""Commands for many programs: make random ones, judge them, reduce those that fail, report."""
