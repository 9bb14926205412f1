// Kinds of failures: a list, and the chosen one with its smallest program and its reproducer.

import { outcomeChip, showCommand, sourceText } from "report/parts.js";
import { button, element, empty, fill, moveByKeys, notes, share } from "page/elements.js";
import { counted, grouped } from "page/numbers.js";

/** @param {Context} context @returns {View} */
export function createKinds(context) {
  const { kinds } = context.report;
  const most = Math.max(1, ...kinds.map((kind) => kind.count));
  const rows = kinds.map(({ count, outcome, steps, size, reduced, title }, number) =>
    element(
      "div.kind",
      { role: "option", id: `kind-${number}`, onclick: () => choose(number) },
      element(
        "div.toolbar",
        element("strong", grouped(count)),
        outcomeChip(outcome),
        element("span.quiet", steps),
        element("span.quiet.reduced", reduced === "" ? size : `${size}, reduced to ${reduced}`),
      ),
      element("div", title),
      share(Math.max(0.01, count / most)),
    ),
  );
  const list = element("div.boxed.kind-list.choices", { role: "listbox", "aria-label": "Kinds of failures", tabindex: 0 }, ...rows);
  const detail = element("div.detail", { role: "region", "aria-label": "The chosen kind" });
  let shown = -1;
  moveByKeys(list, () => ({ at: shown, last: kinds.length - 1 }), (number) => {
    choose(number);
    rows[number].scrollIntoView({ block: "nearest" });
  });

  /** @param {number} number */
  function choose(number) {
    context.select({ kind: kinds[number].key });
  }

  /** @param {ViewState} state */
  function update(state) {
    const number = Math.max(0, kinds.findIndex((kind) => kind.key === state.kind));
    if (kinds.length === 0 || number === shown) return;
    shown = number;
    for (const [index, row] of rows.entries()) row.setAttribute("aria-selected", String(index === number));
    list.setAttribute("aria-activedescendant", `kind-${number}`);
    fill(detail, ...details(kinds[number]));
    detail.scrollTop = 0;
  }

  /** @param {Kind} kind */
  function details({ key, title, outcome, steps, count, suspect, note, message, cause, smallest, reproducer, source }) {
    const show = () => context.select({ view: "programs", kind: key, outcome: "", step: "" });
    const blamed = `Programs with wrong results have "${suspect}", and few of the others do.`;
    return [
      element("h2", title),
      element(
        "p.toolbar",
        outcomeChip(outcome),
        element("span", `in ${steps}, ${counted(count, "program")}`),
        button("Show its programs", show, { class: "primary" }),
      ),
      ...notes([suspect === "" ? "" : blamed, note].filter((text) => text !== "")),
      reproducer === null ? null : sourceText(context, "Reproducer", reproducer),
      element("h3", `The findings of ${context.report.programs.name[smallest]}`),
      element("pre.message", { tabindex: 0, "aria-label": "The message" }, message || cause),
      source === null ? null : sourceText(context, "Smallest program", source),
      showCommand(context, key),
    ];
  }

  const view = kinds.length === 0 ? element("div", empty("Nothing failed.")) : element("div.filling.split", list, detail);
  return { id: "kinds", title: `Kinds of failures (${grouped(kinds.length)})`, element: view, update };
}
