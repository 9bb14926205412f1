// The program in its forms, side by side.  Every line of a form knows the operations of the tile program it comes from:
// pointing at a line lights what belongs to the same operations in all panes, following it chooses the operation.

import { button, element, fill } from "page/elements.js";
import { unpack } from "explorer/data.js";
import { Pane } from "explorer/pane.js";
import { blockName, counted, tellingValue } from "explorer/words.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Selection} Selection
 * @typedef {import("./types").View} View
 * @typedef {import("./types").Steps} Steps
 * @typedef {import("./types").OperationInfo} OperationInfo
 */

const MOST_PANES = 3;
/** From this width on, in pixels, there is space for three panes. */
const WIDE = 1500;

/**
 * @param {Context} context
 * @returns {View}
 */
export function createView(context) {
  const forms = new Forms(context);
  return { id: "forms", title: "Forms", element: forms.element, update: (selection) => forms.update(selection) };
}

class Forms {
  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    /**
     * What is pointed at, and what was followed last: operations.
     * @type {number[]}
     */
    this.pointed = [];
    /** @type {number[]} */
    this.followed = [];
    /** @type {number | null} */
    this.momentOperation = null;
    /** @type {Pane[]} */
    this.panes = [];

    this.more = button("Add a pane", () => this.resize(this.panes.length + 1));
    this.fewer = button("Remove the last", () => this.resize(this.panes.length - 1));
    this.row = element("div", { class: "forms-panes" });
    this.about = element("div", { class: "forms-operation", role: "region", "aria-label": "The chosen operation" });
    this.element = element(
      "section",
      { class: "forms filling", "aria-label": "Forms of the program" },
      element(
        "div",
        { class: "toolbar" },
        element("span", { class: "forms-help" }, "Point at a line to light what it became; click it or press Enter to go there. Left and right move along long lines, / finds."),
        this.more,
        this.fewer,
      ),
      this.row,
      this.about,
    );
  }

  // ---- Panes -----------------------------------------------------------------------------------------------------

  /** @param {number} count */
  resize(count) {
    count = Math.max(1, Math.min(count, MOST_PANES));
    while (this.panes.length > count) {
      const removed = this.panes.pop();
      removed?.element.remove();
      // Otherwise another pane would show what was just put away.
      if (removed?.id === this.context.selection.form) this.context.select({ form: null });
    }
    while (this.panes.length < count) {
      const pane = new Pane(this.context, this.panes.length, this.firstForm(this.panes.length), {
        point: (operations) => this.point(operations),
        follow: (operations, from) => this.follow(operations, from),
        choose: (form) => this.context.select({ form }),
        shown: (shown) => this.appear(shown),
      });
      this.panes.push(pane);
      this.row.append(pane.element);
    }
    this.more.disabled = count === MOST_PANES;
    this.fewer.disabled = count === 1;
    this.row.style.setProperty("--panes", String(count));
  }

  /**
   * What a new pane shows: from what the author wrote towards what runs.
   * @param {number} place
   */
  firstForm(place) {
    const all = this.context.summary.forms;
    const here = all.filter((form) => form.reason === null).map((form) => form.id);
    const passes = here.filter((id) => id.startsWith("pass"));
    const written = all.find((form) => form.id === "source" && form.reason === null)?.title ?? "";
    // A source in Tile IR is the tile program, but for names and comments.
    const first = written === "" ? ["tile"] : written.endsWith(".py") ? ["source", "tile"] : ["source"];
    const wanted = [...first, ...(first.length === 1 ? passes.slice(-1) : []), "loops", ...passes.slice(-1), "llvm"];
    const used = new Set(this.panes.map((pane) => pane.id));
    const free = wanted.filter((id) => here.includes(id) && !used.has(id));
    return free[0] ?? here[place % Math.max(here.length, 1)] ?? all[0]?.id ?? "";
  }

  // ---- Links -----------------------------------------------------------------------------------------------------

  /** @param {number[]} operations */
  point(operations) {
    this.pointed = operations;
    for (const pane of this.panes) this.light(pane);
  }

  /**
   * @param {number[]} operations
   * @param {Pane} from
   */
  follow(operations, from) {
    if (operations.length === 0) {
      this.context.announce("This line comes from no operation of the tile program");
      return;
    }
    const current = this.context.selection.operation;
    this.followed = operations;
    // Of a line that computes several things, the last one is what it is about.
    const last = operations[operations.length - 1];
    this.context.select({ operation: current !== null && operations.includes(current) ? current : last });
    this.pointed = operations;
    const words = [];
    for (const pane of this.panes) {
      this.light(pane);
      const lines = pane.linesOf(operations);
      if (pane.form === null) continue;
      if (pane !== from) pane.listing.reveal(lines);
      words.push(`${pane.title}: ${counted(lines.size, "line")}`);
    }
    this.context.announce(`${counted(operations.length, "operation")}. ${words.join(", ")}`);
  }

  /** @param {Pane} pane */
  light(pane) {
    pane.listing.mark({
      lit: pane.linesOf(this.pointed),
      chosen: pane.linesOf(this.followed),
      moment: pane.linesOf(this.momentOperation === null ? [] : [this.momentOperation]),
    });
  }

  /**
   * A form has come: the chosen operation is looked for in it.
   * @param {Pane} pane
   */
  appear(pane) {
    this.light(pane);
    const lines = pane.linesOf(this.followed);
    // A kernel may stand far down in its script.
    pane.listing.reveal(lines.size > 0 ? lines : pane.firstLines());
  }

  // ---- The selection ---------------------------------------------------------------------------------------------

  /** @param {Selection} selection */
  async update(selection) {
    // Forms are made when somebody looks at them: assembling takes its time.
    if (this.panes.length === 0) this.resize(innerWidth >= WIDE ? 3 : 2);
    const { form, operation } = selection;
    if (form !== null && !this.panes.some((pane) => pane.id === form)) this.panes[this.panes.length - 1].show(form);
    const elsewhere = operation !== null && !this.followed.includes(operation);
    if (operation === null || elsewhere) this.followed = operation === null ? [] : [operation];
    for (const pane of this.panes) {
      this.light(pane);
      if (elsewhere) pane.listing.reveal(pane.linesOf(this.followed));
    }
    const executed = await this.executed(selection);
    this.momentOperation = executed !== null && selection.step > 0 ? (executed[selection.step - 1] ?? null) : null;
    for (const pane of this.panes) this.light(pane);
    this.tellOperation(selection, executed);
  }

  /**
   * The operations that the selected tile block executed; null if a page without a server does not have them.
   * @param {Selection} selection
   */
  async executed(selection) {
    const order = unpack(this.context.summary.recording.order);
    if (order.length === 0) return null;
    try {
      const steps = /** @type {Steps} */ (await this.context.ask("steps", { block: order[selection.place] }));
      return unpack(steps.operation);
    } catch {
      return null;
    }
  }

  /**
   * @param {Selection} selection
   * @param {ArrayLike<number> | null} executed
   */
  tellOperation(selection, executed) {
    const info = selection.operation === null ? undefined : this.context.summary.operations[selection.operation];
    if (info === undefined) {
      fill(this.about, element("p", { class: "empty" }, "No operation is chosen."));
      return;
    }
    const parts = [element("code", { class: "forms-text" }, info.text)];
    if (info.script !== null) {
      const { file, line, text } = info.script;
      parts.push(element("span", { class: "forms-script" }, `${file.split("/").pop()}:${line}: `, element("code", {}, text.trim())));
    }
    fill(this.about, ...parts, this.runs(info, selection, executed));
  }

  /**
   * How often the operation runs in the selected tile block, and the ways to these moments.
   * @param {OperationInfo} info
   * @param {Selection} selection
   * @param {ArrayLike<number> | null} executed
   */
  runs(info, selection, executed) {
    const order = unpack(this.context.summary.recording.order);
    if (executed === null) return null;
    const moments = [];
    for (let step = 0; step < executed.length; step++) if (executed[step] === info.id) moments.push(step + 1);
    const block = blockName(order[selection.place], this.context.summary.grid);
    const before = moments.filter((step) => step < selection.step).pop();
    const after = moments.find((step) => step > selection.step);
    const value = tellingValue(info, this.context.summary.values);
    /** @param {number | undefined} step */
    const go = (step) => () => step !== undefined && this.context.select({ step });
    return element(
      "span",
      { class: "forms-runs" },
      `runs ${counted(moments.length, "time")} in tile block ${block}`,
      button("Previous run", go(before), { disabled: before === undefined }),
      button("Next run", go(after), { disabled: after === undefined }),
      info.reads || info.writes ? button("Memory", () => this.context.select({ view: "memory" })) : null,
      value === null ? null : button("Values", () => this.context.select({ view: "values", value })),
    );
  }
}
