// The sanitizer's report in its place: what is wrong, where, and one click to the accesses it is about.

import { button, element, empty, fill } from "page/elements.js";
import { accessesOf, momentOf } from "explorer/state.js";
import { NOTHING_RAN, blockName, counted, tellingValue } from "explorer/words.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Finding} Finding
 * @typedef {import("./types").FindingPlace} FindingPlace
 * @typedef {import("./types").Findings} Findings
 * @typedef {import("./types").View} View
 */

/** More findings than these are shown when they are asked for. */
const SHOWN_AT_ONCE = 100;

/**
 * @param {Context} context
 * @returns {View}
 */
export function createView(context) {
  const body = element("div", { class: "findings" });
  let shown = false;
  return {
    id: "findings",
    title: context.summary.findings === 0 ? "Findings" : `Findings (${context.summary.findings})`,
    element: body,
    async update() {
      if (shown) return;
      if (context.summary.recording.order.shape[0] === 0 && context.summary.failure === null) {
        fill(body, empty(NOTHING_RAN));
        return;
      }
      fill(body, empty("Looking at what the sanitizer found .."));
      try {
        const answer = /** @type {Findings} */ (await context.ask("findings"));
        shown = true;
        show(context, body, answer);
      } catch (error) {
        fill(body, empty(error instanceof Error ? error.message : String(error)));
      }
    },
  };
}

/**
 * @param {Context} context
 * @param {HTMLElement} body
 * @param {Findings} answer
 */
function show(context, body, answer) {
  const mistakes = answer.findings.filter((finding) => !finding.note);
  const notes = answer.findings.filter((finding) => finding.note);
  const { failure } = context.summary;
  fill(
    body,
    failure === null
      ? null
      : element("section", { class: "note bad findings-failure", "aria-label": "The launch failed" }, element("h2", {}, "The launch ended early"), element("pre", {}, failure)),
    element("h2", {}, heading(mistakes.length, notes.length, failure !== null)),
    ...groups(context, mistakes),
    ...(notes.length === 0 ? [] : [element("h2", {}, "Notes"), list(context, notes)]),
    context.summary.recording.order.shape[0] > 0 ? numbers(context) : null,
    checked(answer, mistakes.length === 0),
  );
}

/**
 * Where NaNs and infinities come from: tile blocks run again for it, so it is looked for when somebody asks.
 * @param {Context} context
 */
function numbers(context) {
  const found = element("div", { "aria-live": "polite" });
  const look = button("Look for NaNs and infinities", () => void ask());
  return element("section", { class: "findings-numbers", "aria-label": "NaNs and infinities" }, look, found);

  async function ask() {
    look.disabled = true;
    fill(found, empty("Running tile blocks again .."));
    try {
      const answer = /** @type {Findings} */ (await context.ask("numbers"));
      const made = answer.findings.filter((finding) => !finding.note);
      const given = answer.findings.filter((finding) => finding.note);
      fill(
        found,
        element("h2", {}, made.length > 0 ? "Where NaNs and infinities begin" : "No operation makes a NaN or an infinity"),
        ...groups(context, made),
        ...(given.length === 0 ? [] : [element("h3", {}, "What the kernel was given"), list(context, given)]),
        ...answer.notes.map((note) => element("p", { class: "note" }, note)),
      );
    } catch (error) {
      look.disabled = false;
      fill(found, empty(error instanceof Error ? error.message : String(error)));
    }
  }
}

/**
 * @param {number} mistakes
 * @param {number} notes
 * @param {boolean} failed
 */
function heading(mistakes, notes, failed) {
  if (mistakes > 0) return counted(mistakes, "finding");
  if (failed) return "Nothing else was found up to there";
  return notes > 0 ? "Nothing is wrong; there is something to note" : "Nothing found";
}

/**
 * Findings by kind, in the order in which kinds were first seen.
 * @param {Context} context
 * @param {Finding[]} findings
 */
function groups(context, findings) {
  /** @type {Map<string, Finding[]>} */
  const kinds = new Map();
  for (const finding of findings) kinds.set(finding.kind, [...(kinds.get(finding.kind) ?? []), finding]);
  return Array.from(kinds, ([kind, members]) =>
    element(
      "section",
      { class: "findings-group", "aria-label": `Findings of kind ${kind}` },
      element("h3", {}, element("span", { class: "chip bad" }, kind), ` ${members.length}`),
      list(context, members),
    ),
  );
}

/**
 * @param {Context} context
 * @param {Finding[]} findings
 */
function list(context, findings) {
  const items = element("ol", { class: "findings-list" });
  /** @param {number} from */
  const add = (from) => {
    for (const finding of findings.slice(from, from + SHOWN_AT_ONCE)) items.append(element("li", {}, card(context, finding)));
    const left = findings.length - from - SHOWN_AT_ONCE;
    if (left <= 0) return;
    const more = button(`Show more: ${left} left`, () => {
      more.parentElement?.remove();
      add(from + SHOWN_AT_ONCE);
    });
    items.append(element("li", { class: "findings-more" }, more));
  };
  add(0);
  return items;
}

/**
 * @param {Context} context
 * @param {Finding} finding
 */
function card(context, finding) {
  const { place, other } = finding;
  const rows = accessesOf(finding);
  const both = place.access !== null && other !== null && other.access !== null;
  return element(
    "article",
    { class: `panel finding${finding.note ? " finding-note" : ""}`, "aria-label": finding.title },
    element("h4", {}, finding.title),
    finding.count > 1 ? element("p", { class: "quiet" }, `seen ${counted(finding.count, "time")}; this is the first`) : null,
    element(
      "div",
      { class: "finding-places" },
      placeBox(context, "at", place, rows),
      other === null ? null : placeBox(context, finding.relation, other, rows),
    ),
    finding.details.length === 0
      ? null
      : element("ul", { class: "finding-details" }, ...finding.details.map((detail) => element("li", {}, detail))),
    finding.hint === "" ? null : element("p", { class: "note finding-hint" }, element("b", {}, "Hint: "), finding.hint),
    element(
      "div",
      { class: "toolbar" },
      rows.length === 0
        ? null
        : button(both ? "Show the two accesses" : "Show the access", () => context.select({ view: "memory", ...momentOf(context.summary, place, rows) }), {
            class: "primary",
          }),
      element(
        "details",
        {},
        element("summary", {}, "As the sanitizer prints it"),
        element("pre", { tabindex: 0, role: "region", "aria-label": `Printed: ${finding.title}` }, finding.text),
      ),
    ),
  );
}

/**
 * One of the places of a finding: the line, the tile block, and the ways there.
 * @param {Context} context
 * @param {string} relation
 * @param {FindingPlace} place
 * @param {number[]} rows
 */
function placeBox(context, relation, place, rows) {
  const { summary } = context;
  const info = place.operation === null ? undefined : summary.operations[place.operation];
  const block = place.block === null ? "" : `tile block ${blockName(place.block, summary.grid)}`;
  const within = place.element === null || place.element.length === 0 ? "" : `element [${place.element.join(", ")}]`;
  const name = place.array === null ? "" : `array ${summary.arrays[place.array]?.name ?? place.array}`;
  const array = place.outside ? `outside of ${name || "every array"}` : name;
  const where = [block, within, array].filter((words) => words !== "").join(", ");
  const script = info?.script ?? null;
  const go = (/** @type {string} */ view, /** @type {string} */ words) =>
    button(words, () => context.select({ view, ...momentOf(context.summary, place, rows) }), {
      "aria-label": `${words}: ${relation} ${where || "this line"}`,
    });
  return element(
    "div",
    { class: "finding-place", role: "group", "aria-label": `${relation} ${where}` },
    element(
      "p",
      { class: "quiet" },
      element("b", {}, relation),
      ` ${place.position || (script === null ? "" : `${script.file}:${script.line}`)}`,
    ),
    script === null ? null : element("pre", { class: "finding-script" }, script.text),
    // A tile program that was written by hand is its own script.
    info === undefined || script?.text.includes(info.name) ? null : element("pre", { class: "finding-operation" }, info.text),
    where === "" ? null : element("p", {}, where),
    element(
      "div",
      { class: "toolbar" },
      place.access === null ? null : go("memory", "In memory"),
      info !== undefined && place.step !== null && tellingValue(info, summary.values) !== null ? go("values", "Values there") : null,
      info === undefined ? null : go("forms", "In the program"),
    ),
  );
}

/**
 * @param {Findings} answer
 * @param {boolean} open
 */
function checked(answer, open) {
  const part = element(
    "details",
    { class: "findings-checked" },
    element("summary", {}, answer.checked.length === 0 ? "Nothing was checked" : "What was checked"),
    element(
      "dl",
      { class: "pairs" },
      ...answer.checked.flatMap(({ kind, text }) => [element("dt", {}, kind), element("dd", {}, text)]),
    ),
    ...answer.notes.map((note) => element("p", { class: "note" }, note)),
  );
  part.open = open;
  return part;
}
