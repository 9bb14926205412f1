// The first view: what is wrong, or that nothing is, the line, the script's variables and the arrays at the moment, and
// where to look next.  What the launch is made of stands below, folded.

import { unpack } from "explorer/data.js";
import { button, element, empty, fill, table } from "page/elements.js";
import { shownLine } from "explorer/highlighting.js";
import { accessesOf, firstFinding, momentOf } from "explorer/state.js";
import { blockName, bytes, counted, extents, grouped } from "explorer/words.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Finding} Finding
 * @typedef {import("./types").Findings} Findings
 * @typedef {import("./types").Form} Form
 * @typedef {import("./types").Selection} Selection
 * @typedef {import("./types").Steps} Steps
 * @typedef {import("./types").Summary} Summary
 * @typedef {import("./types").Tile} Tile
 * @typedef {import("./types").Values} Values
 * @typedef {import("./types").Variable} Variable
 * @typedef {import("./types").Variables} Variables
 * @typedef {import("./types").View} View
 */

/** Lines of the source above and below that of the moment. */
const AROUND = 5;
/** Of a program without a script, so many of its newest values are listed. */
const NEWEST = 12;
/** Elements of an array that are shown, and the largest array that is asked about. */
const FIRST = 6;
const SHOWN_ARRAY = 1 << 20;

/**
 * @param {Context} context
 * @returns {View}
 */
export function createView(context) {
  const { summary } = context;
  const ran = summary.recording.order.shape[0] > 0;
  const finding = panel("Finding");
  const source = panel("Source");
  const variables = panel("Variables");
  const contents = panel("Arrays");
  const order = unpack(summary.recording.order);
  const about = element(
    "details",
    { class: "about", open: !ran },
    element("summary", {}, "About the launch: parameters of the tile program, recording, forms"),
    element(
      "div",
      { class: "panels" },
      panel("Launch", launch(summary)),
      panel("Parameters", parameters(context)),
      panel("Recording", recording(summary)),
      panel("Forms", forms(context)),
    ),
  );
  const body = element(
    "div",
    {},
    summary.failure === null ? null : element("p", { class: "note bad" }, `The launch failed: ${summary.failure}`),
    ran
      ? element(
          "div",
          { class: "overview" },
          element("div", { class: "overview-part" }, finding, source),
          element("div", { class: "overview-part" }, variables, contents),
        )
      : null,
    ...[...summary.recording.notes, ...summary.notes].map((text) => element("p", { class: "note" }, text)),
    about,
  );
  let told = false;

  /** @param {Selection} selection */
  async function update(selection) {
    if (!ran) return;
    if (!told) {
      told = true;
      const answer = summary.findings === 0 ? null : /** @type {Findings} */ (await context.ask("findings"));
      fill(finding, ...findingWords(context, answer));
    }
    const block = order[selection.place];
    await Promise.all([
      filled(source, () => sourceWords(context, selection, block)),
      filled(variables, () => variableWords(context, selection, block)),
      filled(contents, () => arrayWords(context, selection, block)),
    ]);
  }
  return { id: "overview", title: "Overview", element: body, update };
}

/**
 * Fills a panel; what cannot be had, as in an exported page, is said there.
 * @param {HTMLElement} place
 * @param {() => Promise<(Node | null)[]>} parts
 */
async function filled(place, parts) {
  try {
    fill(place, ...(await parts()));
  } catch (error) {
    fill(place, heading(place.getAttribute("aria-label") ?? ""), empty(error instanceof Error ? error.message : String(error)));
  }
}

/** @param {string} text */
function heading(text) {
  return element("h2", {}, text);
}

// ---- What is wrong, and what to do next ----

/**
 * @param {Context} context
 * @param {Findings | null} answer
 */
function findingWords(context, answer) {
  const { summary } = context;
  const first = answer === null ? null : firstFinding(answer) ?? answer.findings.find(({ note }) => !note) ?? null;
  const all = button(`All ${counted(summary.findings, "finding")}`, () => context.select({ view: "findings" }));
  const keys = element("p", { class: "quiet" }, "Keys: ", key(","), " ", key("."), " step back and on, ", key("<"), " ", key(">"), " other tile blocks, ", key("?"), " all keys.");
  if (first === null) {
    const written = summary.arrays.find((array) => array.written);
    return [
      // What did not run to its end was not looked at: nothing found is no praise then.
      heading(summary.findings > 0 ? counted(summary.findings, "finding") : summary.failure === null ? "No findings" : "The launch ended early"),
      next(
        summary.findings > 0 ? all : null,
        written === undefined ? null : button(`Who writes ${written.name}`, () => context.select({ view: "memory", array: written.id })),
        written === undefined ? null : button(`Values of ${written.name}`, () => context.select({ view: "values", array: written.id, value: null })),
        button("What was checked", () => context.select({ view: "findings" })),
      ),
      keys,
    ];
  }
  const { place } = first;
  const rows = accessesOf(first);
  const go = (/** @type {string} */ view, /** @type {string} */ text) =>
    button(text, () => context.select({ view, ...momentOf(summary, place, rows) }));
  const where = [place.position, place.block === null ? "" : `tile block ${blockName(place.block, summary.grid)}`];
  return [
    heading(summary.findings === 1 ? "The finding" : `The first of ${counted(summary.findings, "finding")}`),
    element("p", {}, element("span", { class: "chip bad" }, first.kind), " ", element("b", {}, first.title)),
    element("p", { class: "quiet" }, where.filter((text) => text !== "").join(", ")),
    first.details.length === 0 ? null : element("ul", {}, ...first.details.map((text) => element("li", {}, text))),
    first.hint === "" ? null : element("p", { class: "note" }, element("b", {}, "Hint: "), first.hint),
    next(
      place.access === null ? null : go("memory", rows.length > 1 ? "Show the two accesses" : "Show the access"),
      place.step === null ? null : go("overview", "Back to its step"),
      place.operation === null ? null : go("forms", "In the program"),
      all,
    ),
    keys,
  ];
}

/** @param {(Node | null)[]} buttons */
function next(...buttons) {
  return element("div", { class: "toolbar", role: "group", "aria-label": "Next" }, element("b", {}, "Next:"), ...buttons);
}

/** @param {string} text */
function key(text) {
  return element("kbd", {}, text);
}

// ---- The line ----

/**
 * @param {Context} context
 * @param {Selection} selection
 * @param {number} block
 */
async function sourceWords(context, selection, block) {
  const { summary } = context;
  /** @type {Steps} */
  const steps = await context.ask("steps", { block });
  const executed = unpack(steps.operation);
  // The operation of the step, or the last one before it that stands in the source.
  let at = selection.step - 1;
  while (at >= 0 && summary.operations[executed[at]]?.script === null) at--;
  const operation = at < 0 ? undefined : summary.operations[executed[at]];
  const script = operation?.script ?? null;
  const known = summary.forms.find((form) => form.id === "source" && form.reason === null);
  if (script === null) return [heading("Source"), empty("No line of the source has run yet: go a step on.")];
  const name = script.file.split(/[\\/]/).pop() ?? script.file;
  const title = heading(`${name}:${script.line}`);
  /** @type {Form | null} */
  const form = known === undefined ? null : await context.ask("form", { id: "source" });
  const whole = form !== null && form.title === name ? form.lines : null;
  const first = whole === null ? script.line : Math.max(1, script.line - AROUND);
  const lines = whole === null ? [script.text] : whole.slice(first - 1, script.line + AROUND);
  const rows = lines.map((line, index) => {
    const number = first + index;
    const here = number === script.line;
    return element(
      "div",
      { class: here ? "source-line here" : "source-line", "aria-current": here ? "true" : null },
      element("span", { class: "source-number", "aria-hidden": "true" }, String(number)),
      element("code", {}, ...shownLine(line, form?.language ?? "", "")),
    );
  });
  return [
    title,
    element("div", { class: "source-lines", tabindex: 0, role: "region", "aria-label": `Lines around ${name}:${script.line}` }, ...rows),
  ];
}

// ---- Variables ----

/**
 * @param {Context} context
 * @param {Selection} selection
 * @param {number} block
 */
async function variableWords(context, selection, block) {
  const { summary } = context;
  const { step } = selection;
  const where = `tile block ${blockName(block, summary.grid)}, step ${grouped(step)}`;
  if (!summary.script) return [heading("Variables"), ...(await valueWords(context, step, block, where))];
  /** @type {Variables} */
  const { functions } = await context.ask("variables", { block, step });
  const made = functions.flatMap(({ function: name, variables, unassigned }, number) => [
    variableTable(context, number === 0 ? `${name}: ${where}` : `${name}, which called it`, variables, step),
    unassigned.length === 0 ? null : element("p", { class: "quiet" }, `Not assigned yet: ${unassigned.join(", ")}.`),
  ]);
  return [heading("Variables"), ...made];
}

/**
 * @param {Context} context
 * @param {string} title
 * @param {Variable[]} variables
 * @param {number} step
 */
function variableTable(context, title, variables, step) {
  const { summary } = context;
  const rows = variables.map((one) => {
    const array = one.array === null ? undefined : summary.arrays[one.array];
    const name = valueButton(context, one.name, one.value, one.step, one.array);
    const words = array === undefined ? one.text : `array ${extents(array.shape)} ${array.element}`;
    return [name, element("span", { class: "contents" }, words), setAt(context, one.step, step, one.parameter)];
  });
  return scrolled(table(title, ["Name", "Value", "Set at"], rows));
}

/**
 * The values of a program that is its own script.
 * @param {Context} context
 * @param {number} step
 * @param {number} block
 * @param {string} where
 */
async function valueWords(context, step, block, where) {
  const { summary } = context;
  /** @type {Values} */
  const known = await context.ask("values", { block, step });
  const listed = known.values
    .filter(({ value }) => !summary.values[value].type.includes("ptr<"))
    .sort((one, two) => two.step - one.step || two.value - one.value);
  const rows = listed.slice(0, NEWEST).map((entry) => {
    const { script, name } = summary.values[entry.value];
    return [
      valueButton(context, script ?? name, entry.value, entry.step, null),
      element("span", { class: "contents" }, entry.text),
      setAt(context, entry.step, step, entry.step === 0),
    ];
  });
  const left = listed.length - rows.length;
  return [
    scrolled(table(where, ["Name", "Value", "Set at"], rows)),
    left > 0 ? button(`All ${counted(listed.length, "value")}`, () => context.select({ view: "values", array: null })) : null,
  ];
}

/**
 * @param {Context} context
 * @param {string} name
 * @param {number | null} value
 * @param {number | null} step
 * @param {number | null} array
 */
function valueButton(context, name, value, step, array) {
  if (value === null && array === null) return element("code", {}, name);
  const change = value === null ? { array, value: null } : { value, operation: context.summary.values[value].operation };
  const at = value === null || step === null || step === 0 ? {} : { step };
  return button(name, () => context.select({ view: "values", ...change, ...at }), { class: "link mono", title: "Show the values" });
}

/**
 * The way to the step that computed a value.
 * @param {Context} context
 * @param {number | null} computed
 * @param {number} now
 * @param {boolean} given
 */
function setAt(context, computed, now, given) {
  if (computed === null || computed === 0) return given ? "given" : "";
  const words = `step ${grouped(computed)}`;
  if (computed === now) return element("b", {}, words);
  return button(words, () => context.select({ step: computed }), { class: "link", title: "Go to the step that computed it" });
}

// ---- Arrays ----

/**
 * @param {Context} context
 * @param {Selection} selection
 * @param {number} block
 */
async function arrayWords(context, selection, block) {
  const { summary } = context;
  // What the kernel writes is what it is about.
  const listed = [...summary.arrays].sort((one, two) => Number(two.written) - Number(one.written));
  const rows = await Promise.all(
    listed.map(async (array) => [
      button(array.name, () => context.select({ view: "memory", array: array.id }), { class: "link mono" }),
      array.element,
      element("span", { class: "whole" }, extents(array.shape)),
      element("span", { class: "whole" }, bytes(array.bytes)),
      [array.read ? "read" : "", array.written ? "written" : ""].filter((word) => word !== "").join(", ") || "not touched",
      element("span", { class: "contents" }, await firstElements(context, array, selection.step, block)),
    ]),
  );
  return [
    heading("Arrays"),
    scrolled(table(counted(rows.length, "array"), ["Name", "Element", "Shape", "Size", "Use", "Contents now"], rows)),
  ];
}

/**
 * @param {Context} context
 * @param {import("./types").ArrayInfo} array
 * @param {number} step
 * @param {number} block
 */
async function firstElements(context, array, step, block) {
  const count = array.shape.reduce((product, extent) => product * extent, 1);
  if (count === 0) return "empty";
  if (count > SHOWN_ARRAY) return "";
  try {
    /** @type {Tile} */
    const { text, statistics } = await context.ask("array", { array: array.id, block, step });
    if (text === null) return `${statistics.least} to ${statistics.most}`;
    return text.slice(0, FIRST).join(", ") + (text.length > FIRST ? " .." : "");
  } catch {
    // An exported page carries arrays of some tile blocks only.
    return "";
  }
}

// ---- What the launch is made of ----

/**
 * @param {string} title
 * @param {Node[]} parts
 */
function panel(title, ...parts) {
  return element("section", { class: "panel", "aria-label": title }, element("h2", {}, title), ...parts);
}

/** @param {[string, string | Node][]} rows */
function pairs(rows) {
  const list = element("dl", { class: "pairs" });
  for (const [term, text] of rows) list.append(element("dt", {}, term), element("dd", {}, text));
  return list;
}

/** @param {Summary} summary */
function launch(summary) {
  const [x, y, z] = summary.grid;
  return pairs([
    ["kernel", element("code", {}, summary.kernel)],
    ["program", summary.title],
    ["grid", `${x} x ${y} x ${z}: ${counted(x * y * z, "tile block")}`],
    ["order", summary.schedule],
    ["operations", grouped(summary.operations.length)],
  ]);
}

/** @param {Context} context */
function parameters(context) {
  const { summary } = context;
  const rows = summary.parameters.map((parameter) => [
    element("code", {}, parameter.name),
    element("code", {}, parameter.type),
    // An address says nothing to anybody: the array does.
    parameter.array === null ? parameter.value : element("span", { class: "whole" }, arrayType(summary.arrays[parameter.array])),
  ]);
  return scrolled(table(counted(rows.length, "parameter"), ["Name", "Type", "Value"], rows));
}

/** @param {import("./types").ArrayInfo | undefined} array */
function arrayType(array) {
  return array === undefined ? "an array" : `${extents(array.shape)} ${array.element}`;
}

/** @param {HTMLElement} part */
function scrolled(part) {
  return element("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": "Table" }, part);
}

/** @param {Summary} summary */
function recording({ recording: kept }) {
  if (kept.limit === 0) return element("p", { class: "quiet" }, "nothing was run");
  return pairs([
    ["tile blocks", grouped(kept.order.shape[0] ?? 0)],
    ["accesses", grouped(kept.accesses)],
    ["size", `${bytes(kept.bytes)} of at most ${bytes(kept.limit)}`],
  ]);
}

/** @param {Context} context */
function forms(context) {
  const rows = context.summary.forms.map((form) => [
    form.title,
    form.reason ??
      button("read it", () => context.select({ view: "forms", form: form.id }), { class: "link", "aria-label": `Read ${form.title}` }),
  ]);
  return scrolled(table(counted(rows.length, "form"), ["Form", "Here"], rows));
}
