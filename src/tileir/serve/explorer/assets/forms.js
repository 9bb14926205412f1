// The program in its forms, side by side.  Every line of a form knows the operations of the tile program it comes from:
// pointing at a line lights what belongs to the same operations in all panes, following it chooses the operation.

import { operationParts } from "explorer/accesses.js";
import { Pane } from "explorer/pane.js";
import { blockName, mainValue } from "explorer/text.js";
import { button, element, empty, fill } from "page/elements.js";
import { counted } from "page/numbers.js";

const MOST_PANES = 3;
/** From this width on, in pixels, there is space for three panes. */
const WIDE = 1500;
const HELP =
  "Point at a line to light what it became; click it or press Enter to go there. " +
  "Left and right move along long lines, / finds.";

/** @param {Context} context @returns {View} */
export function createView(context) {
  const { summary } = context;
  /** The operations that are pointed at, and those that were followed last. @type {number[]} */
  let pointed = [];
  /** @type {number[]} */
  let followed = [];
  /** The operation of the step. @type {number[]} */
  let current = [];
  /** @type {Pane[]} */
  const panes = [];
  const more = button("Add a pane", () => resize(panes.length + 1));
  const fewer = button("Remove the last", () => resize(panes.length - 1));
  const row = element("div.forms-panes");
  const about = element("div.panel.toolbar.forms-operation", { role: "region", "aria-label": "The chosen operation" });
  const root = element(
    "section.forms.filling",
    { "aria-label": "Representations of the program" },
    element("div.toolbar", element("span.forms-help.quiet", HELP), more, fewer),
    row,
    about,
  );

  /** @param {number} count */
  function resize(count) {
    while (panes.length > count) {
      const removed = panes.pop();
      removed?.element.remove();
      // Otherwise another pane would show what was just put away.
      if (removed?.id === context.state.form) context.select({ form: "" });
    }
    while (panes.length < count) {
      const choose = (/** @type {string} */ form) => context.select({ form });
      const pane = new Pane(context, panes.length, firstForm(), { point, follow, choose, shown: appear });
      panes.push(pane);
      row.append(pane.element);
    }
    more.disabled = count === MOST_PANES;
    fewer.disabled = count === 1;
    row.style.setProperty("--panes", String(count));
  }

  /** What a new pane shows: from what the author wrote toward what runs. */
  function firstForm() {
    const here = summary.forms.filter((form) => form.reason === null);
    const ids = here.map((form) => form.id);
    const passes = ids.filter((id) => id.startsWith("pass")).slice(-1);
    const source = here.find((form) => form.id === "source");
    // A source in Tile IR is the tile program, but for names and comments.
    const isScript = source?.title.endsWith(".py") ?? false;
    const first = source === undefined ? ["tile", ...passes] : isScript ? ["source", "tile"] : ["source", ...passes];
    const free = [...first, "loops", ...passes, "llvm"].filter((id) => ids.includes(id) && !panes.some((pane) => pane.id === id));
    return free[0] ?? ids[panes.length % Math.max(ids.length, 1)] ?? summary.forms[0]?.id ?? "";
  }

  /** @param {number[]} operations */
  function point(operations) {
    pointed = operations;
    panes.forEach(light);
  }

  /** @param {number[]} operations @param {Pane} from */
  function follow(operations, from) {
    if (operations.length === 0) {
      context.announce("This line comes from no operation of the tile program");
      return;
    }
    followed = operations;
    // Of a line that computes several things, the last one is what it is about.
    const { operation } = context.state;
    const isKept = operation !== null && operations.includes(operation);
    context.select({ operation: isKept ? operation : operations[operations.length - 1] });
    point(operations);
    const counts = panes.filter((pane) => pane.form !== null).map((pane) => {
      const lines = pane.linesOf(operations);
      if (pane !== from) pane.listing.reveal(lines);
      return `${pane.title}: ${counted(lines.size, "line")}`;
    });
    context.announce(`${counted(operations.length, "operation")}. ${counts.join(", ")}`);
  }

  /** @param {Pane} pane */
  function light(pane) {
    pane.listing.mark({ lit: pane.linesOf(pointed), chosen: pane.linesOf(followed), moment: pane.linesOf(current) });
  }

  /** A form has come: the chosen operation is looked for in it. @param {Pane} pane */
  function appear(pane) {
    light(pane);
    const lines = pane.linesOf(followed);
    // A kernel may stand far down in its script.
    pane.listing.reveal(lines.size > 0 ? lines : pane.firstLines());
  }

  /** @param {ViewState} state */
  async function update({ form, operation, place, step }) {
    // Forms are made when somebody looks at them: assembling takes its time.
    if (panes.length === 0) resize(innerWidth >= WIDE ? 3 : 2);
    if (form !== "" && !panes.some((pane) => pane.id === form)) panes[panes.length - 1].show(form);
    const isElsewhere = operation !== null && !followed.includes(operation);
    if (operation === null || isElsewhere) followed = operation === null ? [] : [operation];
    for (const pane of panes) {
      light(pane);
      if (isElsewhere) pane.listing.reveal(pane.linesOf(followed));
    }
    // A page without a server may not have the steps.
    const executed = context.order.length === 0 ? null : await context.executed(place).catch(() => null);
    current = executed !== null && step > 0 ? [executed[step - 1]] : [];
    panes.forEach(light);
    const info = operation === null ? undefined : summary.operations[operation];
    if (info === undefined) fill(about, empty("No operation is chosen."));
    else fill(about, ...aboutOperation(info, executed));
  }

  /** The operation, its line in the script, and how often it runs. @param {OperationInfo} info @param {NumberArray | null} executed */
  function aboutOperation(info, executed) {
    const parts = [element("span.toolbar.forms-text", ...operationParts(info))];
    if (executed === null) return parts;
    const { id, reads, writes } = info;
    const { place, step } = context.state;
    const steps = Array.from(executed, (one, at) => (one === id ? at + 1 : 0)).filter((at) => at > 0);
    const go = (/** @type {string} */ name, /** @type {number | undefined} */ to) =>
      button(name, () => context.select({ step: to }), { disabled: to === undefined });
    const value = mainValue(info, summary.values);
    const runs = element(
      "span.toolbar",
      `runs ${counted(steps.length, "time")} in tile block ${blockName(context.order[place], summary.grid)}`,
      go("Previous run", steps.findLast((at) => at < step)),
      go("Next run", steps.find((at) => at > step)),
      reads || writes ? button("Memory", () => context.select({ view: "memory" })) : null,
      value === null ? null : button("Values", () => context.select({ view: "values", value })),
    );
    return [...parts, runs];
  }

  return { id: "forms", title: "Stages", element: root, update };
}
