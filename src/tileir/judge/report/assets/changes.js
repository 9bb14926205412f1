// What is better and worse than in an older sweep.

import { outcomeChip } from "report/parts.js";
import { element, table } from "page/elements.js";
import { grouped } from "page/numbers.js";

/**
 * @typedef {import("./types").Change} Change
 * @typedef {import("./types").Changes} Changes
 * @typedef {import("./types").Context} Context
 */

/** Rows of one table: whoever wants more asks the command line. */
const MOST = 1000;

/** @param {Context} context */
export function createChanges(context) {
  const changes = /** @type {Changes} */ (context.report.changes);
  const view = element(
    "div",
    { class: "changes" },
    element("p", { class: changes.worse ? "note bad" : "note" }, changes.summary),
    ...kinds(context, "New kinds of failures", changes.newKinds),
    ...programs("Broken", changes.broken),
    ...programs("Fixed", changes.fixed),
    ...programs("Failing otherwise", changes.changed),
    ...kinds(context, "Kinds of failures that are gone", changes.goneKinds),
  );
  return { id: "changes", title: "Changes", element: view, update() {} };
}

/**
 * @param {Context} context
 * @param {string} title
 * @param {Changes["newKinds"]} found
 */
function kinds(context, title, found) {
  if (found.length === 0) return [];
  const rows = found.map((kind) => [kind.title, outcomeChip(context, kind.outcome), kind.steps, kind.count, kind.smallest]);
  return [panel(title, found.length, table(title, ["Cause", "Outcome", "Step", "Programs", "Smallest"], rows))];
}

/**
 * @param {string} title
 * @param {Change[]} found
 */
function programs(title, found) {
  if (found.length === 0) return [];
  const rows = found.slice(0, MOST).map((change) => [change.name, change.before, change.now]);
  return [panel(title, found.length, table(title, ["Program", "Before", "Now"], rows))];
}

/**
 * @param {string} title
 * @param {number} count
 * @param {HTMLElement} inside
 */
function panel(title, count, inside) {
  return element("section", { class: "panel scrolled" }, element("h2", {}, `${title} (${grouped(count)})`), inside);
}
