// One pane of the forms: the choice of a form, its listing, a search in it, and the way through its changes.

import { button, choice, element, empty, fill } from "page/elements.js";
import { Listing } from "explorer/listing.js";
import { counted } from "explorer/words.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Form} Form
 */

/**
 * What a pane tells: the operations of the line that is pointed at, those of a line that was followed, the form that
 * was chosen in it, and that a form has come.
 * @typedef {object} PaneListener
 * @property {(operations: number[]) => void} point
 * @property {(operations: number[], from: Pane) => void} follow
 * @property {(form: string) => void} choose
 * @property {(pane: Pane) => void} shown
 */

export class Pane {
  /**
   * @param {Context} context
   * @param {number} place
   * @param {string} id The form to begin with.
   * @param {PaneListener} listener
   */
  constructor(context, place, id, listener) {
    this.context = context;
    this.listener = listener;
    this.id = id;
    /** @type {Form | null} */
    this.form = null;
    /**
     * The lines of each operation.
     * @type {Map<number, number[]>}
     */
    this.lines = new Map();
    this.listing = new Listing({
      point: (line) => listener.point(this.operationsOf(line)),
      follow: (line) => listener.follow(this.operationsOf(line), this),
    });
    const name = `pane ${place + 1}`;
    const options = context.summary.forms.map((form) => ({
      value: form.id,
      title: form.reason === null ? form.title : `${form.title} (not available)`,
    }));
    this.choice = choice(options, id, (chosen) => this.choose(chosen), { "aria-label": `Form in ${name}` });
    this.query = element("input", { type: "search", class: "pane-query", placeholder: "Find", "aria-label": `Find in ${name}` });
    this.query.addEventListener("input", () => this.find());
    this.query.addEventListener("keydown", (event) => this.press(event));
    this.count = element("output", { class: "pane-count", "aria-live": "polite" });
    this.changes = element("span", { class: "pane-changes" });
    this.body = element("div", { class: "pane-body" });
    this.notes = element("div", { class: "pane-notes" });
    this.element = element(
      "section",
      { class: "pane", "aria-label": `Forms, ${name}` },
      element("div", { class: "pane-head" }, this.choice, this.changes, this.query, this.count),
      this.body,
      this.notes,
    );
    this.element.addEventListener("keydown", (event) => this.shortcut(event));
    this.show(id);
  }

  get title() {
    return this.context.summary.forms.find((form) => form.id === this.id)?.title ?? this.id;
  }

  /**
   * @param {number | null} line
   * @returns {number[]}
   */
  operationsOf(line) {
    return line === null ? [] : (this.form?.links[line] ?? []);
  }

  /**
   * The lines that come from any of some operations.
   * @param {number[]} operations
   * @returns {Set<number>}
   */
  linesOf(operations) {
    /** @type {Set<number>} */
    const found = new Set();
    for (const operation of operations) for (const line of this.lines.get(operation) ?? []) found.add(line);
    return found;
  }

  /** The first line that comes from an operation. */
  firstLines() {
    const line = this.form?.links.findIndex((operations) => operations.length > 0) ?? -1;
    return line < 0 ? [] : [line];
  }

  // ---- The form --------------------------------------------------------------------------------------------------

  /** @param {string} id */
  choose(id) {
    this.show(id);
    this.listener.choose(id);
  }

  /** @param {string} id */
  show(id) {
    this.id = id;
    this.form = null;
    this.lines = new Map();
    this.choice.value = id;
    this.query.value = "";
    this.count.textContent = "";
    fill(this.changes);
    fill(this.notes);
    void this.load(id);
  }

  /** @param {string} id */
  async load(id) {
    const known = this.context.summary.forms.find((form) => form.id === id);
    if (known === undefined) {
      fill(this.body, empty("There is no form to show."));
      return;
    }
    if (known.reason !== null) {
      fill(this.body, empty(`${known.title}: ${known.reason}`));
      return;
    }
    fill(this.body, empty(`Making ${known.title} ..`));
    let form;
    try {
      form = /** @type {Form} */ (await this.context.ask("form", { id }));
    } catch (error) {
      if (id === this.id) fill(this.body, empty(error instanceof Error ? error.message : String(error)));
      return;
    }
    // Another one may have been chosen meanwhile.
    if (id !== this.id) return;
    this.form = form;
    form.links.forEach((operations, line) => {
      for (const operation of operations) {
        const lines = this.lines.get(operation);
        if (lines === undefined) this.lines.set(operation, [line]);
        else lines.push(line);
      }
    });
    fill(this.body, this.listing.element);
    this.listing.show(form);
    fill(this.notes, ...form.notes.map((note) => element("p", {}, note)));
    this.tellChanges();
    this.listener.shown(this);
  }

  tellChanges() {
    if (this.form === null || this.form.changed === null) return;
    const fresh = this.form.changed.filter((one) => one === 1).length;
    const gone = (this.form.removed ?? []).length;
    const starts = this.listing.rows.changes();
    const go = (/** @type {1 | -1} */ direction) => () => {
      const place = this.listing.step(starts, direction);
      if (place >= 0) this.context.announce(`Change ${place + 1} of ${starts.length}`);
    };
    const none = starts.length === 0;
    fill(
      this.changes,
      element("span", { class: "pane-new", title: "new or changed lines" }, `+${fresh}`),
      element("span", { class: "pane-removed", title: "removed lines" }, `−${gone}`),
      button("↑", go(-1), { "aria-label": "Previous change", title: "Previous change (P)", disabled: none }),
      button("↓", go(1), { "aria-label": "Next change", title: "Next change (N)", disabled: none }),
    );
  }

  // ---- The search ------------------------------------------------------------------------------------------------

  find() {
    const count = this.listing.search(this.query.value);
    if (this.query.value === "") this.count.textContent = "";
    else if (count === 0) this.count.textContent = "not found";
    else this.tellFound(this.listing.step(this.listing.found, 1, true));
  }

  /** @param {number} place */
  tellFound(place) {
    this.count.textContent = place < 0 ? "not found" : `${place + 1} of ${counted(this.listing.found.length, "line")}`;
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (event.key === "Enter") this.tellFound(this.listing.step(this.listing.found, event.shiftKey ? -1 : 1));
    else if (event.key === "Escape") {
      this.query.value = "";
      this.find();
      this.listing.scroller.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {KeyboardEvent} event */
  shortcut(event) {
    const typing = event.target === this.query || event.target === this.choice;
    if ((event.key === "f" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing)) {
      // The browser's own search sees only the rows in sight.
      this.query.focus();
      this.query.select();
    } else if (!typing && (event.key === "n" || event.key === "p") && this.form?.changed) {
      this.listing.step(this.listing.rows.changes(), event.key === "n" ? 1 : -1);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
