"""Comments that silence nothing; the linter finds them itself, once it knows what was there to silence."""

from __future__ import annotations

from tileir.analyze.lint.rule import Rule
from tileir.annotations import Final

UNKNOWN_RULE: Final = Rule(
    "unknown-rule",
    "silences",
    "A comment silences a rule that does not exist",
    reason="A misspelled name silences nothing, and a rule that is gone need not be silenced.",
    remedy="Name the rule as the finding does; `tileir lint --list-rules` lists them.",
    positive="""\
entry @k(%p: tile<ptr<f32>>) {
  // here
  %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token // tileir: ignore[unused-laod, unused-load]
  return
}
""",
    negative="""\
entry @k(%p: tile<ptr<f32>>) {
  %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token // tileir: ignore[unused-load]: it warms a cache
  return
}
""",
    check=None,
)

UNUSED_SILENCE: Final = Rule(
    "unused-silence",
    "silences",
    "A comment silences a finding that is not there",
    reason="It would hide the finding if it came back, and tells the reader of something that is no longer so.",
    remedy="Delete the comment, or the names in it that silence nothing.",
    positive="""\
entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
  // here
  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token // tileir: ignore[unused-value]
  return
}
""",
    negative="""\
entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
  // tileir: ignore[unused-value]
  %y = addf %x, %x : tile<f32>
  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
  return
}
""",
    check=None,
)
