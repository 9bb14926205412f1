// Parts that several views show: outcomes, the text of a program, a command.

import { button, element } from "page/elements.js";
import { bytes } from "page/numbers.js";

/** @type {Record<string, string>} */
const TONES = { passed: "good", refused: "warning", skipped: "warning" };

/** An outcome, in its color and in words. @param {string} outcome @param {string} [text] */
export function outcomeChip(outcome, text = outcome) {
  return element(`span.chip.${TONES[outcome] ?? "bad"}`, text);
}

/** The text of a program, which can be copied. @param {Context} context @param {string} title @param {Source} source */
export function sourceText(context, title, { name, text, bytes: size, cut }) {
  const copy = button("Copy", () => {
    void navigator.clipboard?.writeText(text).then(
      () => context.announce("copied"),
      () => context.announce("the browser does not let this page copy"),
    );
  });
  return element(
    "section.source",
    element("div.toolbar", element("h3", title), element("span.quiet", `${name}, ${bytes(size)}`), copy),
    element("pre", { tabindex: 0, "aria-label": title }, text),
    cut ? element("p.quiet", "The end is left out here.") : null,
  );
}

/** The command that prints one program whole. @param {Context} context @param {string} name */
export function showCommand(context, name) {
  const command = `tileir report ${quoted(context.report.file)} --show ${quoted(name)}`;
  return element("p.quiet", "All of it: ", element("code.command", command));
}

/** @param {string} text */
function quoted(text) {
  return /^[\w./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
