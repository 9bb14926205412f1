// The findings of the sanitizer: what is wrong, where, and one click to the accesses it is about.

import { accessesOf, stateOf } from "explorer/state.js";
import { NOTHING_RAN, blockName, indexText, mainValue } from "explorer/text.js";
import { button, element, empty, fill, fillLater, notes, pairs } from "page/elements.js";
import { counted } from "page/numbers.js";

/** More findings than these are shown on request. */
const SHOWN_AT_ONCE = 100;

/** @param {Context} context @returns {View} */
export function createView(context) {
  const { findings, failure } = context.summary;
  const body = element("div.findings");
  let isShown = false;
  async function update() {
    if (isShown) return;
    if (context.order.length === 0 && failure === null) {
      fill(body, empty(NOTHING_RAN));
      return;
    }
    const asked = context.ask("findings");
    isShown = await fillLater(body, "Looking at what the sanitizer found ..", asked, (answer) => parts(context, answer));
  }
  return { id: "findings", title: findings === 0 ? "Findings" : `Findings (${findings})`, element: body, update };
}

/** @param {Context} context @param {Findings} answer */
function parts(context, answer) {
  const { failure } = context.summary;
  const [wrong, noted] = sorted(answer);
  const none = noted.length > 0 ? "Nothing is wrong; there is something to note" : "Nothing found";
  const title = failure === null ? none : "Nothing else was found up to there";
  const failed = [element("h2", "The launch ended early"), element("pre", failure)];
  return [
    failure === null ? null : element("section.note.bad", { "aria-label": "The launch failed" }, ...failed),
    element("h2", wrong.length > 0 ? counted(wrong.length, "finding") : title),
    ...groups(context, wrong),
    ...(noted.length === 0 ? [] : [element("h2", "Notes"), list(context, noted)]),
    context.order.length > 0 ? numbers(context) : null,
    checked(answer, wrong.length === 0),
  ];
}

/** What is wrong, and what is only noted. @param {Findings} answer */
function sorted({ findings }) {
  return [findings.filter(({ note }) => !note), findings.filter(({ note }) => note)];
}

/** Where NaNs and infinities come from: tile blocks run again for it, so only on request. @param {Context} context */
function numbers(context) {
  const found = element("div", { "aria-live": "polite" });
  const made = (/** @type {Findings} */ answer) => {
    const [operations, given] = sorted(answer);
    return [
      element("h2", operations.length > 0 ? "Where NaNs and infinities begin" : "No operation makes a NaN or an infinity"),
      ...groups(context, operations),
      ...(given.length === 0 ? [] : [element("h3", "What the kernel was given"), list(context, given)]),
      ...notes(answer.notes),
    ];
  };
  const look = button("Look for NaNs and infinities", async () => {
    look.disabled = true;
    look.disabled = await fillLater(found, "Running tile blocks again ..", context.ask("numbers"), made);
  });
  return element("section.findings-part", { "aria-label": "NaNs and infinities" }, look, found);
}

/** Findings by kind, in the order in which kinds were first seen. @param {Context} context @param {Finding[]} findings */
function groups(context, findings) {
  return [...new Set(findings.map(({ kind }) => kind))].map((kind) => {
    const members = findings.filter((finding) => finding.kind === kind);
    const heading = element("h3", element("span.chip.bad", kind), ` ${members.length}`);
    return element("section", { "aria-label": `Findings of kind ${kind}` }, heading, list(context, members));
  });
}

/** @param {Context} context @param {Finding[]} findings */
function list(context, findings) {
  const items = element("ol.plain");
  const add = (/** @type {number} */ from) => {
    for (const finding of findings.slice(from, from + SHOWN_AT_ONCE)) items.append(element("li", card(context, finding)));
    const left = findings.length - from - SHOWN_AT_ONCE;
    if (left <= 0) return;
    const more = button(`Show more: ${left} left`, () => {
      more.parentElement?.remove();
      add(from + SHOWN_AT_ONCE);
    });
    items.append(element("li", more));
  };
  add(0);
  return items;
}

/** @param {Context} context @param {Finding} finding */
function card(context, finding) {
  const { place, other, title, count, details, help, note, relation, text } = finding;
  const rows = accessesOf(finding);
  const show = () => context.select({ view: "memory", ...stateOf(context, place, rows) });
  const printed = element("pre", { tabindex: 0, role: "region", "aria-label": `Printed: ${title}` }, text);
  return element(
    note ? "article.panel.finding.finding-note" : "article.panel.finding",
    { "aria-label": title },
    element("h4", title),
    count > 1 ? element("p.quiet", `seen ${counted(count, "time")}; this is the first`) : null,
    element(
      "div.panels",
      placeBox(context, "at", place, rows),
      other === null ? null : placeBox(context, relation, other, rows),
    ),
    details.length === 0 ? null : element("ul", ...details.map((detail) => element("li", detail))),
    help === "" ? null : element("p.note", element("b", "Help: "), help),
    element(
      "div.toolbar",
      rows.length === 0 ? null : button(rows.length > 1 ? "Show the two accesses" : "Show the access", show, { class: "primary" }),
      element("details", element("summary", "As the sanitizer prints it"), printed),
    ),
  );
}

/**
 * One of the places of a finding: the line, the tile block, and links to them.
 * @param {Context} context @param {string} relation @param {FindingPlace} place @param {number[]} rows
 */
function placeBox(context, relation, place, rows) {
  const { summary } = context;
  const info = place.operation === null ? undefined : summary.operations[place.operation];
  const script = info?.script ?? null;
  const name = place.array === null ? "" : `array ${summary.arrays[place.array]?.name ?? place.array}`;
  const where = [
    place.block === null ? "" : `tile block ${blockName(place.block, summary.grid)}`,
    place.element === null || place.element.length === 0 ? "" : `element ${indexText(place.element)}`,
    place.outside ? `outside of ${name || "every array"}` : name,
  ].filter((text) => text !== "").join(", ");
  const go = (/** @type {string} */ view, /** @type {string} */ text) => {
    const label = { "aria-label": `${text}: ${relation} ${where || "this line"}` };
    return button(text, () => context.select({ view, ...stateOf(context, place, rows) }), label);
  };
  const hasValues = info !== undefined && place.step !== null && mainValue(info, summary.values) !== null;
  return element(
    "div.panel.finding-place",
    { role: "group", "aria-label": `${relation} ${where}` },
    element("p.quiet", element("b", relation), ` ${place.position || (script === null ? "" : `${script.file}:${script.line}`)}`),
    script === null ? null : element("pre", element("b", script.text)),
    // A tile program that was written by hand is its own script.
    info === undefined || script?.text.includes(info.name) ? null : element("pre.quiet", info.text),
    where === "" ? null : element("p", where),
    element(
      "div.toolbar",
      place.access === null ? null : go("memory", "In memory"),
      hasValues ? go("values", "Values there") : null,
      info === undefined ? null : go("forms", "In the program"),
    ),
  );
}

/** @param {Findings} answer @param {boolean} open */
function checked(answer, open) {
  const title = answer.checked.length === 0 ? "Nothing was checked" : "What was checked";
  const list = pairs(answer.checked.map(({ kind, text }) => [kind, text]));
  return element("details.findings-part", { open }, element("summary.quiet", title), list, ...notes(answer.notes));
}
