// A listing of program text that stays fluid with a hundred thousand lines: only the rows in sight exist.  It has a
// cursor (keys, or the pointer's click), marks on lines, its own search, and a ruler that shows where marks are.

import { element } from "page/elements.js";
import { shownLine } from "explorer/highlighting.js";
import { Rows } from "explorer/rows.js";
import { drawRuler } from "explorer/ruler.js";
import { counted } from "explorer/words.js";

/** @typedef {import("./types").Form} Form */

/**
 * What lines are marked as: lit ones belong to what is pointed at, chosen ones to the chosen operation, the moment's
 * to the operation that runs.
 * @typedef {{ lit: Set<number>, chosen: Set<number>, moment: Set<number> }} Marks
 */

/**
 * What a listing tells: the line under the pointer or the cursor (null: none), and a line that was followed.
 * @typedef {{ point(line: number | null): void, follow(line: number): void }} Listener
 */

/** Rows that are made above and below those in sight. */
const MARGIN = 12;
/** More of a line than this is not drawn. */
const LONGEST = 4000;
const USUAL_HEIGHT = 19;

let listings = 0;

/** @returns {Marks} */
export function noMarks() {
  return { lit: new Set(), chosen: new Set(), moment: new Set() };
}

export class Listing {
  /** @param {Listener} listener */
  constructor(listener) {
    this.listener = listener;
    this.number = listings++;
    /** @type {Form | null} */
    this.form = null;
    this.rows = new Rows(null);
    this.cursor = 0;
    this.height = USUAL_HEIGHT;
    this.marks = noMarks();
    /** What is searched for, in lower case, and the rows that have it. */
    this.query = "";
    /** @type {number[]} */
    this.found = [];
    /** @type {Set<number>} */
    this.foundRows = new Set();
    /** @type {Map<number, HTMLElement>} */
    this.drawn = new Map();
    /** @type {number | null} */
    this.pointed = null;
    this.frame = 0;
    /**
     * The rows that are new and those that were removed.
     * @type {number[]}
     */
    this.fresh = [];
    /** @type {number[]} */
    this.gone = [];

    this.sheet = element("div", { class: "listing-sheet", role: "presentation" });
    this.scroller = element(
      "div",
      { class: "listing-scroller", role: "listbox", tabindex: "0", "aria-multiselectable": "true" },
      this.sheet,
    );
    this.ruler = element("canvas", { class: "listing-ruler", "aria-hidden": "true" });
    this.element = element("div", { class: "listing" }, this.scroller, this.ruler);

    this.scroller.addEventListener("scroll", () => this.draw());
    this.scroller.addEventListener("keydown", (event) => this.press(event));
    this.scroller.addEventListener("focus", () => this.point(this.rows.line(this.cursor)));
    this.scroller.addEventListener("blur", () => this.point(null));
    this.scroller.addEventListener("pointermove", (event) => this.point(this.rows.line(this.rowUnder(event))));
    this.scroller.addEventListener("pointerleave", () => this.point(null));
    this.scroller.addEventListener("click", (event) => this.click(event));
    this.ruler.addEventListener("click", (event) => this.jump(event));
    new ResizeObserver(() => this.redraw()).observe(this.scroller);
  }

  /**
   * Show a form, from its beginning.
   * @param {Form} form
   */
  show(form) {
    this.form = form;
    this.rows = new Rows(form);
    this.cursor = 0;
    this.query = "";
    this.found = [];
    this.foundRows = new Set();
    this.marks = noMarks();
    this.fresh = this.rows.where((row) => this.rows.isNew(row));
    this.gone = this.rows.where((row) => this.rows.isRemoved(row));
    this.scroller.setAttribute("aria-label", form.title);
    this.scroller.scrollTop = 0;
    this.scroller.scrollLeft = 0;
    const digits = String(form.lines.length).length;
    this.element.style.setProperty("--digits", String(digits));
    this.sheet.style.setProperty("--columns", String(Math.min(this.rows.columns(), LONGEST) + digits + 7));
    this.redraw();
  }

  /** @param {Marks} marks */
  mark(marks) {
    this.marks = marks;
    for (const [row, node] of this.drawn) {
      this.dress(node, row);
    }
    this.drawRuler();
  }

  /**
   * Bring one of some lines into sight, if none is yet: the first.
   * @param {Iterable<number>} lines
   */
  reveal(lines) {
    let first = Infinity;
    const top = this.scroller.scrollTop;
    const bottom = top + this.scroller.clientHeight;
    for (const line of lines) {
      const start = this.rows.rowOf[line] * this.height;
      if (start >= top && start + this.height <= bottom) return;
      first = Math.min(first, line);
    }
    if (first !== Infinity) {
      this.moveTo(this.rows.rowOf[first], true);
    }
  }

  // ---- Moving ----------------------------------------------------------------------------------------------------

  /**
   * Put the cursor into a row and bring it into sight.
   * @param {number} row
   * @param {boolean} [centred]
   */
  moveTo(row, centred = false) {
    this.cursor = Math.max(0, Math.min(row, this.rows.count - 1));
    const start = this.cursor * this.height;
    const space = this.scroller.clientHeight;
    if (centred) {
      this.scroller.scrollTop = start - space / 2 + this.height / 2;
    } else if (start < this.scroller.scrollTop) {
      this.scroller.scrollTop = start;
    } else if (start + this.height > this.scroller.scrollTop + space) {
      this.scroller.scrollTop = start + this.height - space;
    }
    this.draw();
    for (const [drawnRow, node] of this.drawn) {
      this.dress(node, drawnRow);
    }
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / this.height) - 1);
    /** @type {Record<string, number>} */
    const moves = {
      ArrowUp: this.cursor - 1,
      ArrowDown: this.cursor + 1,
      PageUp: this.cursor - page,
      PageDown: this.cursor + page,
      Home: 0,
      End: this.rows.count - 1,
    };
    if (event.key in moves) {
      this.moveTo(moves[event.key]);
      this.point(this.rows.line(this.cursor));
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      // Lines are longer than panes are wide.
      const distance = this.scroller.clientWidth / (event.shiftKey ? 1 : 5);
      this.scroller.scrollLeft += event.key === "ArrowRight" ? distance : -distance;
    } else if (event.key === "Enter" || event.key === " ") {
      this.follow(this.cursor);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {MouseEvent} event */
  click(event) {
    const marked = document.getSelection();
    if (marked !== null && !marked.isCollapsed) {
      // Somebody is copying text.
      return;
    }
    const row = this.rowUnder(event);
    if (row < this.rows.count) {
      this.moveTo(row);
      this.follow(row);
    }
  }

  /** @param {number} row */
  follow(row) {
    const line = this.rows.line(row);
    if (line !== null) {
      this.listener.follow(line);
    }
  }

  /** @param {number | null} line */
  point(line) {
    if (line !== this.pointed) {
      this.pointed = line;
      this.listener.point(line);
    }
  }

  /**
   * @param {MouseEvent} event
   * @returns {number}
   */
  rowUnder(event) {
    const top = this.scroller.getBoundingClientRect().top;
    return Math.floor((event.clientY - top + this.scroller.scrollTop) / this.height);
  }

  /** @param {MouseEvent} event */
  jump(event) {
    const box = this.ruler.getBoundingClientRect();
    this.moveTo(Math.floor(((event.clientY - box.top) / box.height) * this.rows.count), true);
  }

  // ---- Searching -------------------------------------------------------------------------------------------------

  /**
   * Look for a text, without regard to case; gives how many rows have it.
   * @param {string} query
   * @returns {number}
   */
  search(query) {
    this.query = query.toLowerCase();
    const has = (/** @type {number} */ row) => this.rows.text(row).toLowerCase().includes(this.query);
    this.found = this.query === "" ? [] : this.rows.where(has);
    this.foundRows = new Set(this.found);
    this.redraw();
    return this.found.length;
  }

  /**
   * Go to the next row of some from the cursor on, or the previous one; gives its place among them, -1 for none.
   * @param {number[]} rows
   * @param {1 | -1} direction
   * @param {boolean} [here] Whether the row of the cursor counts.
   * @returns {number}
   */
  step(rows, direction, here = false) {
    if (rows.length === 0) {
      return -1;
    }
    let place = direction > 0 ? 0 : rows.length - 1;
    while (place >= 0 && place < rows.length) {
      const distance = (rows[place] - this.cursor) * direction;
      if (distance > 0 || (here && distance === 0)) {
        break;
      }
      place += direction;
    }
    place = (place + rows.length) % rows.length;
    this.moveTo(rows[place], true);
    // What was found may be beyond the pane's edge.
    this.drawn.get(this.cursor)?.querySelector("mark")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    return place;
  }

  // ---- Drawing ---------------------------------------------------------------------------------------------------

  redraw() {
    for (const node of this.drawn.values()) {
      node.remove();
    }
    this.drawn.clear();
    this.measure();
    this.sheet.style.height = `${this.rows.count * this.height}px`;
    this.draw();
    this.drawRuler();
  }

  /** The height of a row depends on the reader's font. */
  measure() {
    const sample = element("div", { class: "row" }, "x");
    this.sheet.append(sample);
    const height = sample.getBoundingClientRect().height;
    sample.remove();
    this.height = height > 0 ? height : USUAL_HEIGHT;
  }

  /** Make the rows in sight, and drop the others. */
  draw() {
    const top = Math.floor(this.scroller.scrollTop / this.height);
    const first = Math.max(0, top - MARGIN);
    const last = Math.min(this.rows.count, top + Math.ceil(this.scroller.clientHeight / this.height) + MARGIN);
    for (const [row, node] of this.drawn) {
      if (row < first || row >= last) {
        node.remove();
        this.drawn.delete(row);
      }
    }
    for (let row = first; row < last; row++) {
      if (!this.drawn.has(row)) {
        const node = this.row(row);
        this.drawn.set(row, node);
        this.sheet.append(node);
      }
    }
    const current = this.drawn.get(this.cursor);
    if (current !== undefined) {
      this.scroller.setAttribute("aria-activedescendant", current.id);
    } else {
      this.scroller.removeAttribute("aria-activedescendant");
    }
  }

  /**
   * @param {number} row
   * @returns {HTMLElement}
   */
  row(row) {
    const line = this.rows.line(row);
    const whole = this.rows.text(row);
    const shown = whole.length > LONGEST ? whole.slice(0, LONGEST) : whole;
    const removed = line === null;
    const fresh = this.rows.isNew(row);
    const sign = removed ? "−" : fresh ? "+" : "";
    const code = element("code", { class: "row-code" }, ...shownLine(shown, this.form?.language ?? "", this.query));
    if (shown !== whole) {
      code.append(element("span", { class: "row-rest" }, ` … ${counted(whole.length - shown.length, "more character")}`));
    }
    const node = element(
      "div",
      { class: "row", role: "option", id: `listing-${this.number}-${row}` },
      element("span", { class: "row-number", "aria-hidden": "true" }, removed ? "" : String(line + 1)),
      element("span", { class: "row-sign", "aria-hidden": "true" }, sign),
      code,
    );
    node.setAttribute("aria-setsize", String(this.rows.count));
    node.setAttribute("aria-posinset", String(row + 1));
    const words = shown.trim() || "blank";
    if (sign !== "") node.setAttribute("aria-label", `${removed ? "removed" : "new"}: ${words}`);
    else if (words === "blank") node.setAttribute("aria-label", words);
    node.style.top = `${row * this.height}px`;
    node.classList.toggle("is-removed", removed);
    node.classList.toggle("is-new", fresh);
    node.classList.toggle("is-linked", this.rows.isLinked(row));
    this.dress(node, row);
    return node;
  }

  /**
   * @param {HTMLElement} node
   * @param {number} row
   */
  dress(node, row) {
    const line = this.rows.line(row) ?? -1;
    const chosen = this.marks.chosen.has(line);
    const lit = this.marks.lit.has(line);
    node.classList.toggle("is-lit", lit);
    node.classList.toggle("is-chosen", chosen);
    node.classList.toggle("is-moment", this.marks.moment.has(line));
    node.classList.toggle("is-found", this.foundRows.has(row));
    node.classList.toggle("is-cursor", row === this.cursor);
    node.setAttribute("aria-selected", String(chosen || lit));
  }

  /** Where marks are in the whole text. */
  drawRuler() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      const rows = (/** @type {Set<number>} */ lines) => Array.from(lines, (line) => this.rows.rowOf[line]);
      const count = Math.max(this.rows.count, Math.ceil(this.ruler.clientHeight / this.height));
      drawRuler(this.ruler, count, [
        { rows: this.fresh, colour: "--code-new", side: "left" },
        { rows: this.gone, colour: "--code-removed", side: "left" },
        { rows: this.found, colour: "--code-found", side: "right" },
        { rows: rows(this.marks.chosen), colour: "--code-chosen", side: "both" },
        { rows: rows(this.marks.lit), colour: "--code-lit", side: "both" },
        { rows: rows(this.marks.moment), colour: "--code-moment", side: "both" },
      ]);
    });
  }
}
