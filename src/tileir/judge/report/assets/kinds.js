// Kinds of failures: a list, and the chosen one with its smallest program and its reproducer.

import { command, outcomeChip, sourceText } from "report/parts.js";
import { button, element, empty, fill } from "page/elements.js";
import { counted, grouped } from "page/numbers.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Kind} Kind
 * @typedef {import("./types").Selection} Selection
 */

/** @param {Context} context */
export function createKinds(context) {
  const kinds = context.report.kinds;
  const list = element("div", { class: "kind-list", role: "listbox", "aria-label": "Kinds of failures", tabindex: "0" });
  const detail = element("div", { class: "detail", role: "region", "aria-label": "The chosen kind", "aria-live": "off" });
  const most = Math.max(1, ...kinds.map((kind) => kind.count));
  const rows = kinds.map((kind, number) =>
    element(
      "div",
      {
        class: "kind",
        role: "option",
        id: `kind-${number}`,
        onclick: () => choose(number),
      },
      element(
        "div",
        { class: "kind-head" },
        element("strong", {}, grouped(kind.count)),
        outcomeChip(context, kind.outcome),
        element("span", { class: "quiet" }, kind.steps),
        element("span", { class: "quiet reduced" }, kind.reduced === "" ? kind.size : `${kind.size}, reduced to ${kind.reduced}`),
      ),
      element("div", { class: "kind-cause" }, kind.title),
      element(
        "div",
        { class: "bar", "aria-hidden": "true" },
        element("div", { style: { width: `${Math.max(1, (100 * kind.count) / most)}%` } }),
      ),
    ),
  );
  list.append(...rows);
  let shown = -1;

  /** @param {number} number */
  function choose(number) {
    context.select({ kind: kinds[number].key });
  }

  list.addEventListener("keydown", (event) => {
    const last = kinds.length - 1;
    /** @type {Record<string, number>} */
    const targets = { ArrowDown: Math.min(last, shown + 1), ArrowUp: Math.max(0, shown - 1), Home: 0, End: last };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    choose(target);
    rows[target].scrollIntoView({ block: "nearest" });
  });

  /** @param {Selection} selection */
  function update(selection) {
    if (kinds.length === 0) return;
    const found = kinds.findIndex((kind) => kind.key === selection.kind);
    const number = found < 0 ? 0 : found;
    if (number === shown) return;
    shown = number;
    for (const [index, row] of rows.entries()) row.setAttribute("aria-selected", String(index === number));
    list.setAttribute("aria-activedescendant", `kind-${number}`);
    fill(detail, ...details(kinds[number]));
    detail.scrollTop = 0;
  }

  /** @param {Kind} kind */
  function details(kind) {
    const name = context.report.programs.name[kind.smallest];
    /** @type {HTMLElement[]} */
    const found = [
      element("h2", {}, kind.title),
      element(
        "p",
        { class: "toolbar" },
        outcomeChip(context, kind.outcome),
        element("span", {}, `in ${kind.steps}, ${counted(kind.count, "program")}`),
        button("Show its programs", () => context.select({ view: "programs", kind: kind.key, outcome: "", step: "" }), {
          class: "primary",
        }),
      ),
    ];
    if (kind.suspect !== "") {
      const words = `Programs with wrong results have "${kind.suspect}", and few of the others do.`;
      found.push(element("p", { class: "note" }, words));
    }
    if (kind.note !== "") found.push(element("p", { class: "note" }, kind.note));
    if (kind.reproducer !== null) found.push(sourceText(context, "Reproducer", kind.reproducer));
    found.push(
      element("h3", {}, `What is said of ${name}`),
      element("pre", { class: "message", tabindex: "0", "aria-label": "The message" }, kind.message || kind.cause),
    );
    if (kind.source !== null) found.push(sourceText(context, "Smallest program", kind.source));
    found.push(element("p", { class: "quiet" }, "All of it: ", command(context, `--show ${kind.key}`)));
    return found;
  }

  const view =
    kinds.length === 0
      ? element("div", {}, empty("Nothing failed."))
      : element("div", { class: "filling split" }, list, detail);
  return { id: "kinds", title: `Kinds of failures (${grouped(kinds.length)})`, element: view, update };
}
