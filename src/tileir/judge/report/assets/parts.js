// What several views show: outcomes, texts of programs.

import { button, element } from "page/elements.js";
import { bytes } from "page/numbers.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Source} Source
 */

/** @type {Record<string, string>} */
const TONES = { passed: "good", refused: "warning", skipped: "warning" };

/**
 * An outcome, in its colour and in words.
 * @param {Context} context
 * @param {string} outcome
 */
export function outcomeChip(context, outcome) {
  const known = context.report.outcomes.find((each) => each.id === outcome);
  return element("span", { class: `chip ${TONES[outcome] ?? "bad"}` }, known?.title ?? outcome);
}

/**
 * The text of a program, which can be copied.
 * @param {Context} context
 * @param {string} title
 * @param {Source} source
 */
export function sourceText(context, title, source) {
  const copy = button("Copy", () => {
    void navigator.clipboard?.writeText(source.text).then(
      () => context.announce("copied"),
      () => context.announce("the browser does not let this page copy"),
    );
  });
  return element(
    "section",
    { class: "source" },
    element(
      "div",
      { class: "toolbar" },
      element("h3", {}, title),
      element("span", { class: "quiet" }, `${source.name}, ${bytes(source.bytes)}`),
      copy,
    ),
    element("pre", { tabindex: "0", "aria-label": title }, source.text),
    source.cut ? element("p", { class: "quiet" }, "The end is left out here.") : null,
  );
}

/**
 * What to type to see more.
 * @param {Context} context
 * @param {string} words
 */
export function command(context, words) {
  return element("code", { class: "command" }, `tileir report ${quoted(context.report.file)} ${words}`);
}

/** @param {string} text */
export function quoted(text) {
  return /^[\w./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
