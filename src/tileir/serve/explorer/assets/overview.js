// The first view: what the author wrote, with the line of the step, the variables and arrays there, and what the
// sanitizer found.

import { Listing } from "explorer/listing.js";
import { linesByOperation } from "explorer/pane.js";
import { accessesOf, firstFinding, stateOf } from "explorer/state.js";
import { blockName, extents, fileName, product } from "explorer/text.js";
import { button, element, empty, fill, messageOf, notes, panel, scrolled, table } from "page/elements.js";
import { counted, grouped } from "page/numbers.js";

/** Findings after the first of which a line is listed. */
const LISTED = 20;
/** Of a program without a script, so many of its newest values are listed. */
const NEWEST = 40;
/** Elements of an array that are shown, and the largest array that is asked about. */
const FIRST = 3;
const LARGEST_ARRAY = 1 << 20;

/** @param {Context} context @returns {View} */
export function createView(context) {
  const { summary, order } = context;
  const ran = order.length > 0;
  const source = createSource(context);
  const [finding, variables, arrays] = [panel("Findings"), panel("Variables"), panel("Arrays")];
  const right = ran ? [variables, arrays] : [panel("Parameters", parameters(summary))];
  const body = element(
    "div.column.first-view",
    summary.failure === null ? null : element("p.note.bad", `The launch failed: ${summary.failure}`),
    ...notes([...summary.recording.notes, ...summary.notes]),
    element("div.overview", element("div.column", source.element, ran ? finding : null), element("div.column", ...right)),
  );
  let isFindingShown = false;

  /** @param {ViewState} state */
  async function update(state) {
    if (!ran) return source.update(state, null);
    const answer = summary.findings === 0 ? null : /** @type {Findings} */ (await context.ask("findings"));
    if (!isFindingShown) fill(finding, ...findingParts(context, answer));
    isFindingShown = true;
    await Promise.all([
      source.update(state, answer).catch((error) => fill(source.element, element("h2", "Source"), empty(messageOf(error)))),
      filled(variables, variableParts(context, state)),
      filled(arrays, arrayParts(context, state)),
    ]);
  }
  return { id: "overview", title: "Overview", element: body, update };
}

/** The source of the kernel, at the line of the step; a click on a line goes to the next step that runs it. @param {Context} context */
function createSource(context) {
  const { summary, ask, executed, order } = context;
  const title = element("h2", "Source");
  const target = element("section.panel.source", { "aria-label": "Source" }, title, empty("There is no source to show."));
  const listing = new Listing({ point() {}, follow: (line) => void follow(line) }, "--bad");
  // A program that does not say what it comes from is shown itself.
  const id = summary.forms.find((form) => form.id === "source" && form.reason === null)?.id ?? "tile";
  /** @type {Form | null} */
  let form = null;
  /** @type {Map<number, number[]>} */
  let lines = new Map();

  /** @param {number} line */
  async function follow(line) {
    const { place, step } = context.state;
    const operations = new Set(form?.links[line]);
    const run = order.length === 0 ? new Int32Array(0) : await executed(place);
    // Where the tile block has run all of the line.
    const ends = [...run.keys()].filter((at) => operations.has(run[at]) && !operations.has(run[at + 1])).map((at) => at + 1);
    const next = ends.find((end) => end > step) ?? ends[0];
    if (next === undefined) context.announce("This line does not run in this tile block.");
    else context.select({ step: next, operation: run[next - 1] });
  }

  /** @param {(number | null | undefined)[]} operations */
  const linesOf = (operations) => new Set(operations.flatMap((one) => lines.get(one ?? -1) ?? []));

  /** @param {ViewState} state @param {Findings | null} answer */
  async function update({ place, step }, answer) {
    if (form === null && summary.forms.some((one) => one.id === id)) {
      form = /** @type {Form} */ (await ask("form", { id }));
      lines = linesByOperation(form);
      fill(target, title, element("div.boxed", listing.element));
      listing.show(form);
    }
    const run = order.length === 0 ? null : await executed(place).catch(() => null);
    // The operation of the step, or the last one before it that stands in the source.
    let at = step - 1;
    while (run !== null && at >= 0 && !lines.has(run[at])) at--;
    const here = linesOf([run?.[at]]);
    const script = run === null || at < 0 ? null : (summary.operations[run[at]]?.script ?? null);
    // Where a function of another file runs, its lines stand below those of the kernel's.
    const own = script !== null && here.has(script.line - 1) ? new Set([script.line - 1]) : here;
    const found = (answer?.findings ?? []).flatMap((one) => [one.place.operation, one.other?.operation]);
    listing.mark({ lit: linesOf(found), chosen: here, moment: own });
    listing.reveal(own.size > 0 ? own : [...lines.values()].flat());
    fill(title, script === null ? (form?.title ?? "Source") : `${fileName(script.file)}:${script.line}`);
  }
  return { element: target, update };
}

/**
 * Fills a panel; what an exported page does not carry is said there.
 * @param {HTMLElement} target @param {Promise<Child[]>} parts
 */
async function filled(target, parts) {
  try {
    fill(target, ...(await parts));
  } catch (error) {
    fill(target, element("h2", target.getAttribute("aria-label")), empty(messageOf(error)));
  }
}

/** @param {Context} context @param {Findings | null} answer */
function findingParts(context, answer) {
  const { summary } = context;
  const first = answer === null ? null : (firstFinding(answer) ?? answer.findings.find(({ note }) => !note) ?? null);
  const count = counted(summary.findings, "finding");
  const all = button(`All ${count}`, () => context.select({ view: "findings" }));
  const next = (/** @type {Child[]} */ ...buttons) =>
    element("div.toolbar", { role: "group", "aria-label": "Next" }, element("b", "Next:"), ...buttons);
  if (first === null) {
    const written = summary.arrays.find((array) => array.written);
    // A launch that ended early was not checked to its end.
    const none = summary.failure === null ? "No findings" : "The launch ended early";
    const ways = written === undefined ? [] : [
      button(`Who writes ${written.name}`, () => context.select({ view: "memory", array: written.id })),
      button(`Values of ${written.name}`, () => context.select({ view: "values", array: written.id, value: null })),
    ];
    const checked = button("What was checked", () => context.select({ view: "findings" }));
    return [element("h2", summary.findings > 0 ? count : none), next(summary.findings > 0 ? all : null, ...ways, checked)];
  }
  const { place, details, help } = first;
  const rows = accessesOf(first);
  const others = answer?.findings.filter((one) => one !== first) ?? [];
  const go = (/** @type {string} */ view, /** @type {string} */ text) =>
    button(text, () => context.select({ view, ...stateOf(context, place, rows) }));
  const where = [place.position, place.block === null ? "" : `tile block ${blockName(place.block, summary.grid)}`];
  return [
    element("h2", summary.findings === 1 ? "The finding" : `The first of ${count}`),
    element("p", element("span.chip.bad", first.kind), " ", element("b", first.title)),
    element("p.quiet", where.filter((text) => text !== "").join(", ")),
    details.length === 0 ? null : element("ul", ...details.map((text) => element("li", text))),
    help === "" ? null : element("p.note", element("b", "Help: "), help),
    next(
      place.access === null ? null : go("memory", rows.length > 1 ? "Show the two accesses" : "Show the access"),
      place.step === null ? null : go("overview", "Back to its step"),
      place.operation === null ? null : go("forms", "In the program"),
      all,
    ),
    ...others.slice(0, LISTED).map((one) => otherFinding(context, one)),
  ];
}

/** One of the findings after the first: a line that leads to its step. @param {Context} context @param {Finding} finding */
function otherFinding(context, finding) {
  const { kind, title, place, note } = finding;
  const go = () => context.select(place.step === null ? { view: "findings" } : stateOf(context, place, accessesOf(finding)));
  const chip = element(note ? "span.chip.warning" : "span.chip.bad", kind);
  return element("p", chip, " ", button(place.position || title, go, { class: "link", title }), place.position && ` ${title}`);
}

/** @param {Context} context @param {ViewState} state @returns {Promise<Child[]>} */
async function variableParts(context, { place, step }) {
  const { summary, order, ask } = context;
  const block = order[place];
  const where = `tile block ${blockName(block, summary.grid)}, step ${grouped(step)}`;
  if (!summary.script) return [element("h2", "Variables"), ...(await valueParts(context, block, step, where))];
  const { functions } = /** @type {Variables} */ (await ask("variables", { block, step }));
  const parts = functions.flatMap(({ function: name, variables, unassigned }, number) => {
    const rows = variables.map((one) => {
      const array = one.array === null ? undefined : summary.arrays[one.array];
      const value = one.value === null ? undefined : summary.values[one.value];
      const link = valueLink(context, one.name, one.value, one.step, one.array);
      const text = element("span.mono", array === undefined ? one.text : "array");
      return [link, text, typeText(array ?? value), stepLink(context, one.step, one.parameter)];
    });
    const title = number === 0 ? `${name}: ${where}` : `${name}, which called it`;
    const missing = `Not assigned yet: ${unassigned.join(", ")}.`;
    return [valueTable(title, rows), unassigned.length === 0 ? null : element("p.quiet", missing)];
  });
  return [element("h2", "Variables"), ...parts];
}

/**
 * The values of a program that is its own script.
 * @param {Context} context @param {number} block @param {number} step @param {string} where
 */
async function valueParts(context, block, step, where) {
  const { values } = context.summary;
  const known = /** @type {Values} */ (await context.ask("values", { block, step }));
  const listed = known.values
    .filter(({ value }) => !values[value].type.includes("ptr<"))
    .sort((one, two) => two.step - one.step || two.value - one.value);
  const rows = listed.slice(0, NEWEST).map((entry) => [
    valueLink(context, values[entry.value].script ?? values[entry.value].name, entry.value, entry.step, null),
    element("span.mono", entry.text),
    typeText(values[entry.value]),
    stepLink(context, entry.step, entry.step === 0),
  ]);
  const all = button(`All ${counted(listed.length, "value")}`, () => context.select({ view: "values", array: null }));
  return [valueTable(where, rows), listed.length > rows.length ? all : null];
}

/** @param {string} title @param {Child[][]} rows */
function valueTable(title, rows) {
  return scrolled("Table", table(title, ["Name", "Value", "Type", "Set at"], rows));
}

/** `64 x 32 f32`. @param {{ element: string | null, shape: number[] | null } | undefined} info */
function typeText(info) {
  const { element: kind = null, shape = null } = info ?? {};
  return element("span.whole", shape === null || shape.length === 0 ? (kind ?? "") : `${extents(shape)} ${kind}`);
}

/**
 * A name that leads to its values.
 * @param {Context} context @param {string} name
 * @param {number | null} value @param {number | null} step @param {number | null} array
 */
function valueLink(context, name, value, step, array) {
  if (value === null && array === null) return element("code", name);
  const change = value === null ? { array, value } : { value, operation: context.summary.values[value].operation };
  const at = value === null || step === null || step === 0 ? {} : { step };
  const attributes = { class: "link mono", title: "Show the values" };
  return button(name, () => context.select({ view: "values", ...change, ...at }), attributes);
}

/** A link to the step that computed a value. @param {Context} context @param {number | null} step @param {boolean} given */
function stepLink(context, step, given) {
  if (step === null || step === 0) return given ? "given" : "";
  const text = `step ${grouped(step)}`;
  if (step === context.state.step) return element("b", text);
  return button(text, () => context.select({ step }), { class: "link", title: "Go to the step that computed it" });
}

/** @param {Context} context @param {ViewState} state */
async function arrayParts(context, { place, step }) {
  const { summary, order } = context;
  // The arrays that the kernel writes come first.
  const listed = [...summary.arrays].sort((one, two) => Number(two.written) - Number(one.written));
  const rows = await Promise.all(
    listed.map(async (array) => [
      button(array.name, () => context.select({ view: "memory", array: array.id }), { class: "link mono" }),
      typeText(array),
      element("span.whole", [array.read ? "read" : "", array.written ? "written" : ""].filter((word) => word !== "").join(", ") || "not touched"),
      element("span.mono", await firstElements(context, array, step, order[place])),
    ]),
  );
  const headers = ["Name", "Type", "Use", "First elements now"];
  return [element("h2", "Arrays"), scrolled("Table", table(counted(rows.length, "array"), headers, rows))];
}

/** @param {Context} context @param {ArrayInfo} array @param {number} step @param {number} block */
async function firstElements(context, array, step, block) {
  const count = product(array.shape);
  if (count === 0) return "empty";
  if (count > LARGEST_ARRAY) return "";
  try {
    const tile = /** @type {Tile} */ (await context.ask("array", { array: array.id, block, step }));
    if (tile.text === null) return `${tile.statistics.least} to ${tile.statistics.most}`;
    return tile.text.slice(0, FIRST).join(", ") + (tile.text.length > FIRST ? " .." : "");
  } catch {
    // An exported page carries arrays of some tile blocks only.
    return "";
  }
}

/** @param {Summary} summary */
function parameters(summary) {
  const rows = summary.parameters.map(({ name, type, array, value }) => {
    // An array says more than its address.
    const info = array === null ? null : summary.arrays[array];
    const text = info === null ? value : element("span.whole", `${extents(info.shape)} ${info.element}`);
    return [element("code", name), element("code", type), text];
  });
  return scrolled("Table", table(counted(rows.length, "parameter"), ["Name", "Type", "Value"], rows));
}
