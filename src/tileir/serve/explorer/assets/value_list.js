// The script's variables, the arrays, and the values of the tile program that are known at a step, the newest first: a
// list to choose from.

import { extents as extentText } from "explorer/text.js";
import { checkbox, element, fill, moveByKeys } from "page/elements.js";
import { counted } from "page/numbers.js";

/** So many are listed at once; a program may have a hundred thousand. */
const LISTED = 300;

/** @param {Context} context */
export function createValueList(context) {
  const { summary } = context;
  const search = { type: "search", placeholder: "filter by name", "aria-label": "Filter values by name" };
  const filter = element("input", { ...search, oninput: draw });
  const listbox = { role: "listbox", tabindex: 0, "aria-label": "Values and arrays", onclick: clicked };
  const box = element("ul.plain.boxed.value-list.choices", listbox);
  const more = element("p.quiet");
  // Of a script, the parameters of the tile program are addresses, extents and strides that its compiler has made.
  const parameters = summary.script ? summary.parameters.length : 0;
  let showsParameters = false;
  const fold = checkbox(`${counted(parameters, "parameter")} of the tile program`, false, (checked) => {
    showsParameters = checked;
    draw();
  });
  /** @type {Variable[]} */
  let variables = [];
  /** @type {Values["values"]} */
  let known = [];
  let { state } = context;
  /** @type {{ value: number | null, array: number | null, step?: number }[]} */
  let rows = [];
  let active = -1;
  moveByKeys(box, () => ({ at: active, last: rows.length - 1 }), choose);

  /** @param {MouseEvent} event */
  function clicked(event) {
    const option = event.target instanceof Element ? event.target.closest("[role=option]") : null;
    if (option instanceof HTMLElement) choose(Number(option.dataset.row));
  }

  /** @param {number} row */
  function choose(row) {
    const { value, array, step = state.step } = rows[row];
    const operation = value === null ? null : summary.values[value].operation;
    context.select(value === null ? { array, value } : { value, operation, step });
  }

  /** The selected value, or else the newest, that is a tile. @param {ViewState} from @param {Values["values"]} values */
  function chosen(from, values) {
    const tiles = values.filter((entry) => (summary.values[entry.value]?.element ?? null) !== null);
    const last = Math.max(...tiles.map((entry) => entry.step));
    return tiles.find((entry) => entry.value === from.value) ?? tiles.findLast((entry) => entry.step === last) ?? null;
  }

  function draw() {
    const query = filter.value.trim().toLowerCase();
    const matches = (/** @type {string} */ text) => text.toLowerCase().includes(query);
    const selected = state.value === null && state.array !== null ? null : chosen(state, known);
    const entries = known
      .filter(({ value }) => {
        const { name, script, type } = summary.values[value];
        return (value >= parameters || showsParameters) && matches(`${name} ${script ?? ""} ${type}`);
      })
      .sort((first, second) => second.step - first.step || second.value - first.value);
    rows = [];
    active = -1;
    const own = variables.filter((one) => one.value !== null && matches(`${one.name} ${one.type}`)).map((one) => {
      const step = one.step ?? 0;
      const newest = known.find((entry) => entry.value === one.value);
      // The value may have been computed again since, as in another iteration: its own step is the one to look at.
      const isNewest = newest?.step === step;
      const row = { value: one.value, array: null, ...(isNewest ? {} : { step }) };
      return option(row, one.value === selected?.value && isNewest, one.name, one.type, step, one.text);
    });
    const arrays = () => summary.arrays.filter((array) => matches(array.name)).slice(0, LISTED).map((array) => {
      const isHere = selected === null && array.id === state.array;
      return option({ value: null, array: array.id }, isHere, array.name, `${extentText(array.shape)} ${array.element}`);
    });
    const scriptArrays = summary.script ? arrays() : [];
    const values = entries.slice(0, LISTED).map(({ value, step, text }) => {
      const { name, script, type } = summary.values[value];
      const isHere = active < 0 && value === selected?.value;
      return option({ value, array: null }, isHere, script ?? name, type, step, text, script === null ? "" : name);
    });
    const title = `${summary.script ? "Values of the tile program" : "Values"} at step ${state.step}`;
    fill(
      box,
      ...section("Variables of the script", own),
      ...section("Arrays", scriptArrays),
      ...section(title, values),
      ...section("Arrays", summary.script ? [] : arrays()),
    );
    const left = entries.length - values.length;
    fill(more, left > 0 ? `and ${counted(left, "value")} more: filter by name` : "");
    const current = document.getElementById(`listed-${active}`);
    current?.scrollIntoView({ block: "nearest" });
    if (active < 0) box.removeAttribute("aria-activedescendant");
    else box.setAttribute("aria-activedescendant", `listed-${active}`);
  }

  /** @param {string} title @param {Child[]} items */
  function section(title, items) {
    return items.length === 0 ? [] : [element("li.heading", { role: "presentation" }, title), ...items];
  }

  /**
   * @param {typeof rows[0]} row @param {boolean} isHere @param {string} name @param {string} type
   * @param {number | null} [step] @param {string} [text] @param {string | null} [alias]
   */
  function option(row, isHere, name, type, step = null, text = "", alias = null) {
    const number = rows.push(row) - 1;
    if (isHere) active = number;
    const computed = step === 0 ? "given" : `step ${step}`;
    return element(
      "li.cut",
      { role: "option", id: `listed-${number}`, "data-row": number, "aria-selected": String(isHere) },
      element("span.name", name),
      alias === null ? null : element("code.quiet.alias", alias),
      element("code.type", type),
      step === null ? null : element(step === state.step ? "span.step.now" : "span.step.quiet", computed),
      text === "" ? null : element("span.text.quiet.mono", text),
    );
  }

  return {
    element: element("nav.column.values-list", { "aria-label": "Values" }, filter, box, more, parameters === 0 ? null : fold),
    chosen,
    /** @param {ViewState} at @param {Values["values"]} values @param {Variables | null} script */
    set(at, values, script) {
      state = at;
      known = values;
      variables = script?.functions.flatMap((one) => one.variables) ?? [];
      draw();
    },
  };
}
