// The first view: the first finding, its line, the script's variables and the arrays at the step, and where to look
// next.  What the launch is made of stands below, folded.

import { coloredLine } from "explorer/highlighting.js";
import { accessesOf, firstFinding, stateOf } from "explorer/state.js";
import { blockName, extents, fileName, product } from "explorer/text.js";
import { button, element, empty, fill, messageOf, notes, pairs, panel, scrolled, table } from "page/elements.js";
import { bytes, counted, grouped } from "page/numbers.js";

/** Lines of the source above and below that of the step. */
const AROUND = 5;
/** Of a program without a script, so many of its newest values are listed. */
const NEWEST = 12;
/** Elements of an array that are shown, and the largest array that is asked about. */
const FIRST = 6;
const LARGEST_ARRAY = 1 << 20;

/** @param {Context} context @returns {View} */
export function createView(context) {
  const { summary, order } = context;
  const ran = order.length > 0;
  const finding = panel("Finding");
  const source = panel("Source");
  const variables = panel("Variables");
  const arrays = panel("Arrays");
  const body = element(
    "div",
    summary.failure === null ? null : element("p.note.bad", `The launch failed: ${summary.failure}`),
    ran ? element("div.overview", element("div.stack", finding, source), element("div.stack", variables, arrays)) : null,
    ...notes([...summary.recording.notes, ...summary.notes]),
    element(
      "details.about",
      { open: !ran },
      element("summary", "About the launch: parameters of the tile program, forms"),
      element(
        "div.panels",
        panel("Launch", launch(summary)),
        panel("Parameters", parameters(summary)),
        panel("Forms", forms(context)),
      ),
    ),
  );
  let isFindingShown = false;

  /** @param {ViewState} state */
  async function update(state) {
    if (!ran) return;
    if (!isFindingShown) {
      isFindingShown = true;
      const answer = summary.findings === 0 ? null : /** @type {Findings} */ (await context.ask("findings"));
      fill(finding, ...findingParts(context, answer));
    }
    await Promise.all([
      filled(source, sourceParts(context, state)),
      filled(variables, variableParts(context, state)),
      filled(arrays, arrayParts(context, state)),
    ]);
  }
  return { id: "overview", title: "Overview", element: body, update };
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
  const keys = [",", ".", " step back and on, ", "<", ">", " other tile blocks, ", "?", " all keys."];
  const help = element("p.quiet", "Keys: ", ...keys.map((text) => (text.length === 1 ? element("kbd", text) : text)));
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
    return [element("h2", summary.findings > 0 ? count : none), next(summary.findings > 0 ? all : null, ...ways, checked), help];
  }
  const { place, details, hint } = first;
  const rows = accessesOf(first);
  const go = (/** @type {string} */ view, /** @type {string} */ text) =>
    button(text, () => context.select({ view, ...stateOf(context, place, rows) }));
  const where = [place.position, place.block === null ? "" : `tile block ${blockName(place.block, summary.grid)}`];
  return [
    element("h2", summary.findings === 1 ? "The finding" : `The first of ${count}`),
    element("p", element("span.chip.bad", first.kind), " ", element("b", first.title)),
    element("p.quiet", where.filter((text) => text !== "").join(", ")),
    details.length === 0 ? null : element("ul", ...details.map((text) => element("li", text))),
    hint === "" ? null : element("p.note", element("b", "Hint: "), hint),
    next(
      place.access === null ? null : go("memory", rows.length > 1 ? "Show the two accesses" : "Show the access"),
      place.step === null ? null : go("overview", "Back to its step"),
      place.operation === null ? null : go("forms", "In the program"),
      all,
    ),
    help,
  ];
}

/** @param {Context} context @param {ViewState} state */
async function sourceParts({ summary, ask, executed }, state) {
  const operations = await executed(state.place);
  // The operation of the step, or the last one before it that stands in the source.
  let at = state.step - 1;
  while (at >= 0 && summary.operations[operations[at]]?.script === null) at--;
  const script = at < 0 ? null : (summary.operations[operations[at]]?.script ?? null);
  if (script === null) return [element("h2", "Source"), empty("No line of the source has run yet: go a step on.")];
  const title = `${fileName(script.file)}:${script.line}`;
  const known = summary.forms.some((form) => form.id === "source" && form.reason === null);
  const form = known ? /** @type {Form} */ (await ask("form", { id: "source" })) : null;
  const isWhole = form !== null && form.title === fileName(script.file);
  const first = isWhole ? Math.max(1, script.line - AROUND) : script.line;
  const lines = isWhole ? form.lines.slice(first - 1, script.line + AROUND) : [script.text];
  const rows = lines.map((line, index) => {
    const isHere = first + index === script.line;
    const number = element("span.row-number", { "aria-hidden": "true" }, String(first + index));
    const code = element("code.row-code", ...coloredLine(line, form?.language ?? "", ""));
    return element(isHere ? "div.row.is-chosen" : "div.row", { "aria-current": isHere ? "true" : null }, number, code);
  });
  const region = { tabindex: 0, role: "region", "aria-label": `Lines around ${title}` };
  return [element("h2", title), element("div.boxed.code-lines", region, ...rows)];
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
      const text = array === undefined ? one.text : `array ${extents(array.shape)} ${array.element}`;
      const link = valueLink(context, one.name, one.value, one.step, one.array);
      return [link, element("span.mono", text), stepLink(context, one.step, one.parameter)];
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
    stepLink(context, entry.step, entry.step === 0),
  ]);
  const all = button(`All ${counted(listed.length, "value")}`, () => context.select({ view: "values", array: null }));
  return [valueTable(where, rows), listed.length > rows.length ? all : null];
}

/** @param {string} title @param {Child[][]} rows */
function valueTable(title, rows) {
  return scrolled("Table", table(title, ["Name", "Value", "Set at"], rows));
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
      array.element,
      element("span.whole", extents(array.shape)),
      element("span.whole", bytes(array.bytes)),
      element("span.whole", [array.read ? "read" : "", array.written ? "written" : ""].filter((word) => word !== "").join(", ") || "not touched"),
      element("span.mono", await firstElements(context, array, step, order[place])),
    ]),
  );
  const headers = ["Name", "Element", "Shape", "Size", "Use", "Contents now"];
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
function launch({ kernel, title, grid, schedule, operations, recording }) {
  const { accesses, bytes: size, limit } = recording;
  return pairs([
    ["kernel", element("code", kernel)],
    ["program", title],
    ["grid", `${grid.join(" x ")}: ${counted(product(grid), "tile block")}`],
    ["order", schedule],
    ["operations", grouped(operations.length)],
    ["recording", limit === 0 ? "nothing was run" : `${counted(accesses, "access", "accesses")}, ${bytes(size)} of at most ${bytes(limit)}`],
  ]);
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

/** @param {Context} context */
function forms(context) {
  const rows = context.summary.forms.map(({ id, title, reason }) => {
    const attributes = { class: "link", "aria-label": `Read ${title}` };
    return [title, reason ?? button("read it", () => context.select({ view: "forms", form: id }), attributes)];
  });
  return scrolled("Table", table(counted(rows.length, "form"), ["Form", "Here"], rows));
}
