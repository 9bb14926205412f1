// The script's variables, the arrays, and the values of the tile program that are known at a moment, the newest first:
// a list to choose from.

import { element, fill } from "page/elements.js";
import { counted, extents as extentWords } from "explorer/words.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Selection} Selection
 * @typedef {import("./types").Values} Values
 * @typedef {import("./types").Variable} Variable
 * @typedef {import("./types").Variables} Variables
 * @typedef {Values["values"][number]} Entry
 */

/** So many are listed at once; a program may have a hundred thousand. */
const LISTED = 300;

/** @param {Context} context */
export function createValueList(context) {
  const { summary } = context;
  const filter = element("input", { type: "search", placeholder: "filter by name", "aria-label": "Filter values by name" });
  const box = element("ul", { class: "value-list", role: "listbox", tabindex: 0, "aria-label": "Values and arrays" });
  const more = element("p", { class: "quiet more" });
  // Of a script, the parameters of the tile program are addresses, extents and strides that its compiler has made.
  const words = summary.script ? summary.parameters.length : 0;
  const shown = element("input", { type: "checkbox", onchange: () => draw() });
  const fold = words === 0 ? null : element("label", { class: "quiet" }, shown, ` ${counted(words, "parameter")} of the tile program`);
  /** @type {Variable[]} */
  let variables = [];
  /** @type {Values | null} */
  let known = null;
  /** @type {Selection} */
  let selection = context.selection;
  /** @typedef {{ value: number | null, array: number | null, step?: number }} Row */
  /** @type {Row[]} */
  let rows = [];
  let active = -1;

  filter.addEventListener("input", () => draw());
  box.addEventListener("click", (event) => {
    const option = event.target instanceof Element ? event.target.closest("[role=option]") : null;
    if (option instanceof HTMLElement) choose(Number(option.dataset.row));
  });
  box.addEventListener("keydown", (event) => {
    /** @type {Record<string, number>} */
    const targets = { ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: rows.length - 1 };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    choose(Math.max(0, Math.min(rows.length - 1, target)));
  });

  /** @param {number} row */
  function choose(row) {
    const wanted = rows[row];
    if (wanted === undefined) return;
    const operation = wanted.value === null ? null : summary.values[wanted.value].operation;
    const step = wanted.step ?? selection.step;
    context.select(wanted.value === null ? { array: wanted.array, value: null } : { value: wanted.value, operation, step });
  }

  /** @param {Entry} entry */
  function hasTile(entry) {
    return summary.values[entry.value]?.element !== null;
  }

  /**
   * The value that is looked at: the selected one, or else the newest.
   * @param {Selection} from
   * @param {Values} values
   * @returns {Entry | null}
   */
  function chosen(from, values) {
    const wanted = values.values.find((entry) => entry.value === from.value);
    if (wanted !== undefined && hasTile(wanted)) return wanted;
    /** @type {Entry | null} */
    let newest = null;
    for (const entry of values.values) {
      if (hasTile(entry) && (newest === null || entry.step >= newest.step)) newest = entry;
    }
    return newest;
  }

  function draw() {
    if (known === null) return;
    const wanted = filter.value.trim().toLowerCase();
    const matches = (/** @type {string} */ text) => wanted === "" || text.toLowerCase().includes(wanted);
    const looked = selection.value === null && selection.array !== null ? null : chosen(selection, known);
    const entries = known.values
      .filter((entry) => {
        const value = summary.values[entry.value];
        return (entry.value >= words || shown.checked) && matches(`${value.name} ${value.script ?? ""} ${value.type}`);
      })
      .sort((first, second) => second.step - first.step || second.value - first.value);
    const listed = entries.slice(0, LISTED);
    const arrays = summary.arrays.filter((array) => matches(array.name)).slice(0, LISTED);
    rows = [];
    active = -1;
    /** @type {Node[]} */
    const made = [];
    const own = variables.filter((one) => one.value !== null && matches(`${one.name} ${one.type}`));
    if (own.length > 0) made.push(title("Variables of the script"));
    for (const one of own) {
      const step = one.step ?? 0;
      const newest = known.values.find((entry) => entry.value === one.value);
      // The value may have been computed again since, as in another iteration: its own step is the one to look at.
      const row = { value: one.value, array: null, ...(newest?.step === step ? {} : { step }) };
      const here = one.value === looked?.value && newest?.step === step;
      made.push(
        option(row, here, [
          element("span", { class: "name" }, one.name),
          element("code", { class: "type" }, one.type),
          element("span", { class: step === selection.step ? "step now" : "step" }, step === 0 ? "given" : `step ${step}`),
          element("span", { class: "text quiet mono" }, one.text),
        ]),
      );
    }
    if (summary.script) made.push(...listArrays());
    if (listed.length > 0) made.push(title(`${summary.script ? "Values of the tile program" : "Values"} at step ${selection.step}`));
    for (const entry of listed) {
      const value = summary.values[entry.value];
      made.push(
        option({ value: entry.value, array: null }, active < 0 && entry.value === looked?.value, [
          element("span", { class: "name" }, value.script ?? value.name),
          element("code", { class: "quiet alias" }, value.script === null ? "" : value.name),
          element("code", { class: "type" }, value.type),
          element("span", { class: entry.step === selection.step ? "step now" : "step" }, entry.step === 0 ? "given" : `step ${entry.step}`),
          element("span", { class: "text quiet mono" }, entry.text),
        ]),
      );
    }
    if (!summary.script) made.push(...listArrays());

    function listArrays() {
      const items = arrays.map((array) =>
        option({ value: null, array: array.id }, looked === null && array.id === selection.array, [
          element("span", { class: "name" }, array.name),
          element("code", { class: "type" }, `${extentWords(array.shape)} ${array.element}`),
        ]),
      );
      return items.length === 0 ? [] : [title("Arrays"), ...items];
    }
    fill(box, ...made);
    const left = entries.length - listed.length;
    fill(more, left > 0 ? `and ${counted(left, "value")} more: filter by name` : "");
    if (active >= 0) {
      box.setAttribute("aria-activedescendant", `listed-${active}`);
      document.getElementById(`listed-${active}`)?.scrollIntoView({ block: "nearest" });
    } else {
      box.removeAttribute("aria-activedescendant");
    }
  }

  /** @param {string} text */
  function title(text) {
    return element("li", { role: "presentation", class: "heading" }, text);
  }

  /**
   * @param {Row} row
   * @param {boolean} here
   * @param {(Node | null)[]} parts
   */
  function option(row, here, parts) {
    const number = rows.push(row) - 1;
    if (here) active = number;
    return element("li", { role: "option", id: `listed-${number}`, "data-row": number, "aria-selected": String(here) }, ...parts);
  }

  return {
    element: element("nav", { class: "values-list", "aria-label": "Values" }, filter, box, more, fold),
    chosen,
    /**
     * @param {Selection} at
     * @param {Values} values
     * @param {Variables | null} script
     */
    set(at, values, script) {
      selection = at;
      known = values;
      variables = script?.functions.flatMap((one) => one.variables) ?? [];
      draw();
    },
  };
}
