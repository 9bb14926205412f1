// One pane of the forms: the choice of a form, its listing, a search in it, and the way through its changes.

import { Listing } from "explorer/listing.js";
import { button, choice, element, empty, fill, messageOf } from "page/elements.js";
import { counted } from "page/numbers.js";

/** The lines of each operation. @param {Form} form */
export function linesByOperation({ links }) {
  /** @type {Map<number, number[]>} */
  const found = new Map();
  for (const [line, operations] of links.entries()) {
    for (const operation of operations) {
      const lines = found.get(operation) ?? [];
      lines.push(line);
      found.set(operation, lines);
    }
  }
  return found;
}

export class Pane {
  /** @param {Context} context @param {number} place @param {string} id @param {PaneListener} listener */
  constructor(context, place, id, listener) {
    this.context = context;
    this.listener = listener;
    this.id = id;
    /** @type {Form | null} */
    this.form = null;
    /** The lines of each operation. @type {Map<number, number[]>} */
    this.lines = new Map();
    this.listing = new Listing({
      point: (line) => listener.point(this.operationsOf(line)),
      follow: (line) => listener.follow(this.operationsOf(line), this),
    });
    const name = `pane ${place + 1}`;
    const options = context.summary.forms.map(({ id: value, title, reason }) => {
      return { value, title: reason === null ? title : `${title} (not available)` };
    });
    const choose = (/** @type {string} */ chosen) => {
      this.show(chosen);
      listener.choose(chosen);
    };
    this.choice = choice(options, id, choose, { "aria-label": `Form in ${name}` });
    this.query = element("input.pane-query", {
      type: "search", placeholder: "Find", "aria-label": `Find in ${name}`,
      oninput: () => this.find(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.press(event),
    });
    this.count = element("output.quiet", { "aria-live": "polite" });
    this.changes = element("span.toolbar.pane-changes");
    this.body = element("div.pane-body");
    this.notes = element("div.pane-notes.quiet");
    this.element = element(
      "section.boxed.pane",
      { "aria-label": `Stages, ${name}`, onkeydown: (/** @type {KeyboardEvent} */ event) => this.shortcut(event) },
      element("div.toolbar.pane-head", this.choice, this.changes, this.query, this.count),
      this.body,
      this.notes,
    );
    this.show(id);
  }

  get title() {
    return this.context.summary.forms.find((form) => form.id === this.id)?.title ?? this.id;
  }

  /** @param {number | null} line @returns {number[]} */
  operationsOf(line) {
    return line === null ? [] : (this.form?.links[line] ?? []);
  }

  /** The lines that come from any of some operations. @param {number[]} operations @returns {Set<number>} */
  linesOf(operations) {
    return new Set(operations.flatMap((operation) => this.lines.get(operation) ?? []));
  }

  /** The first line that comes from an operation. */
  firstLines() {
    const line = this.form?.links.findIndex((operations) => operations.length > 0) ?? -1;
    return line < 0 ? [] : [line];
  }

  /** @param {string} id */
  show(id) {
    this.id = id;
    this.form = null;
    this.lines = new Map();
    this.choice.value = id;
    this.query.value = "";
    for (const part of [this.count, this.changes, this.notes]) fill(part);
    void this.load(id);
  }

  /** @param {string} id */
  async load(id) {
    const known = this.context.summary.forms.find((form) => form.id === id);
    if (known === undefined || known.reason !== null) {
      fill(this.body, empty(known === undefined ? "There is no form to show." : `${known.title}: ${known.reason}`));
      return;
    }
    fill(this.body, empty(`Making ${known.title} ..`));
    let form;
    try {
      form = /** @type {Form} */ (await this.context.ask("form", { id }));
    } catch (error) {
      if (id === this.id) fill(this.body, empty(messageOf(error)));
      return;
    }
    // Another one may have been chosen meanwhile.
    if (id !== this.id) return;
    this.form = form;
    this.lines = linesByOperation(form);
    fill(this.body, this.listing.element);
    this.listing.show(form);
    fill(this.notes, ...form.notes.map((note) => element("p", note)));
    this.showChanges(form);
    this.listener.shown(this);
  }

  /** @param {Form} form */
  showChanges(form) {
    if (form.changed === null) return;
    const fresh = form.changed.filter((one) => one === 1).length;
    const arrow = (/** @type {string} */ text, /** @type {string} */ name, /** @type {1 | -1} */ direction) => {
      const isNone = this.listing.changes().length === 0;
      return button(text, () => this.goToChange(direction), { "aria-label": name, title: `${name} (${name[0]})`, disabled: isNone });
    };
    fill(
      this.changes,
      element("span.pane-new", { title: "new or changed lines" }, `+${fresh}`),
      element("span.pane-removed", { title: "removed lines" }, `−${form.removed?.length ?? 0}`),
      arrow("↑", "Previous change", -1),
      arrow("↓", "Next change", 1),
    );
  }

  /** @param {1 | -1} direction */
  goToChange(direction) {
    const starts = this.listing.changes();
    const place = this.listing.step(starts, direction);
    if (place >= 0) this.context.announce(`Change ${place + 1} of ${starts.length}`);
  }

  find() {
    const count = this.listing.search(this.query.value);
    if (this.query.value === "") fill(this.count);
    else this.showFound(count === 0 ? -1 : this.listing.step(this.listing.found, 1, true));
  }

  /** @param {number} place */
  showFound(place) {
    fill(this.count, place < 0 ? "not found" : `${place + 1} of ${counted(this.listing.found.length, "line")}`);
  }

  /** Keys in the search. @param {KeyboardEvent} event */
  press(event) {
    if (event.key === "Enter") this.showFound(this.listing.step(this.listing.found, event.shiftKey ? -1 : 1));
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
    const isTyping = event.target === this.query || event.target === this.choice;
    if ((event.key === "f" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !isTyping)) {
      // The browser's own search sees only the rows in sight.
      this.query.focus();
      this.query.select();
    } else if (!isTyping && (event.key === "n" || event.key === "p") && this.form?.changed) {
      this.goToChange(event.key === "n" ? 1 : -1);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
