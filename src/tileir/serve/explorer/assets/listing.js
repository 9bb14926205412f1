// A listing of program text with a hundred thousand lines: a cursor, marks on lines, a search, and a ruler that shows
// where in the whole text the marks are.

import { coloredLine } from "explorer/highlighting.js";
import { element, hasModifier, moveByKeys } from "page/elements.js";
import { counted } from "page/numbers.js";
import { oncePerFrame } from "page/page.js";
import { VirtualRows } from "page/rows.js";
import { draw, styleColor } from "page/shapes.js";

/** More of a line than this is not drawn. */
const LONGEST = 4000;
const USUAL_HEIGHT = 19;
/** In pixels: a single mark in a long text is still seen on the ruler. */
const LEAST_HEIGHT = 2;
/** The width of the ruler, in pixels. */
const RULER = 12;

let listings = 0;

export class Listing {
  /** @param {ListingListener} listener @param {string} [lit]  The color of lit lines on the ruler. */
  constructor(listener, lit = "--code-lit") {
    this.litColor = lit;
    this.listener = listener;
    this.number = listings++;
    /** @type {Form | null} */
    this.form = null;
    /** For each row its line, or -1 - n for the n-th removed one; and the row of each line. */
    this.content = new Int32Array(0);
    this.rowOf = new Int32Array(0);
    /** @type {Marks} */
    this.marks = { lit: new Set(), chosen: new Set(), moment: new Set() };
    /** What is searched for, in lower case, and the rows that have it. */
    this.query = "";
    /** @type {number[]} */
    this.found = [];
    /** The rows that are new, and those that were removed. @type {number[]} */
    this.fresh = [];
    /** @type {number[]} */
    this.gone = [];
    /** @type {number | null} */
    this.pointed = null;
    this.drawRuler = oncePerFrame(() => this.drawRulerNow());
    this.sheet = element("div.listing-sheet.code-lines", { role: "presentation" });
    this.scroller = element("div.listing-scroller", { role: "listbox", tabindex: 0, "aria-multiselectable": "true" }, this.sheet);
    this.ruler = element("canvas.listing-ruler", { "aria-hidden": "true" });
    this.element = element("div.listing", this.scroller, this.ruler);
    this.rows = new VirtualRows(this.scroller, this.sheet, (row) => this.makeRow(row), USUAL_HEIGHT);
    const place = () => ({ at: this.rows.cursor, last: this.content.length - 1, page: this.rows.page });
    moveByKeys(this.scroller, place, (row) => {
      this.moveTo(row);
      this.point(this.lineIn(row));
    });
    const { scroller } = this;
    scroller.addEventListener("keydown", (event) => this.press(event));
    scroller.addEventListener("focus", () => this.point(this.lineIn(this.rows.cursor)));
    scroller.addEventListener("blur", () => this.point(null));
    scroller.addEventListener("pointermove", (event) => this.point(this.lineIn(this.rowUnder(event))));
    scroller.addEventListener("pointerleave", () => this.point(null));
    scroller.addEventListener("click", (event) => this.click(event));
    this.ruler.addEventListener("click", ({ offsetY }) => {
      this.moveTo(Math.floor((offsetY / this.ruler.clientHeight) * this.content.length), true);
    });
    new ResizeObserver(this.drawRuler).observe(scroller);
  }

  /** Shows a form, from its beginning. @param {Form} form */
  show(form) {
    this.form = form;
    const removed = (form.removed ?? []).map(({ line }, number) => ({ line, row: -1 - number }));
    const lines = form.lines.map((_, line) => ({ line, row: line }));
    // Removed lines stand before the line that took their place.
    const merged = [...removed, ...lines].sort((one, two) => one.line - two.line || Number(one.row >= 0) - Number(two.row >= 0));
    this.content = Int32Array.from(merged, ({ row }) => row);
    this.rowOf = new Int32Array(form.lines.length);
    this.content.forEach((line, row) => line >= 0 && (this.rowOf[line] = row));
    this.query = "";
    this.found = [];
    this.scroller.setAttribute("aria-label", form.title);
    this.scroller.scrollLeft = 0;
    const digits = String(form.lines.length).length;
    const longest = form.lines.reduce((most, text) => Math.max(most, text.length + 7 * (text.split("\t").length - 1)), 0);
    this.element.style.setProperty("--digits", String(digits));
    this.sheet.style.setProperty("--columns", String(Math.min(longest, LONGEST) + digits + 7));
    // The height of a row depends on the reader's font.
    const sample = element("div.row", "x");
    this.sheet.append(sample);
    this.rows.height = sample.getBoundingClientRect().height || USUAL_HEIGHT;
    sample.remove();
    const all = [...this.content.keys()];
    this.fresh = all.filter((row) => this.isNew(row));
    this.gone = all.filter((row) => this.content[row] < 0);
    this.rows.show(this.content.length);
    this.moveTo(0);
    this.mark({ lit: new Set(), chosen: new Set(), moment: new Set() });
  }

  /** The line in a row; null for a removed one. @param {number} row */
  lineIn(row) {
    const line = this.content[row];
    return line === undefined || line < 0 ? null : line;
  }

  /** @param {number} row */
  textIn(row) {
    const line = this.content[row];
    return (line < 0 ? this.form?.removed?.[-1 - line].text : this.form?.lines[line]) ?? "";
  }

  /** @param {number} row */
  isNew(row) {
    return this.form?.changed?.[this.content[row]] === 1;
  }

  /** The first row of each group of new and removed ones. */
  changes() {
    const differs = (/** @type {number} */ row) => this.content[row] < 0 || this.isNew(row);
    return [...this.content.keys()].filter((row) => differs(row) && (row === 0 || !differs(row - 1)));
  }

  /** @param {Marks} marks */
  mark(marks) {
    this.marks = marks;
    for (const [row, node] of this.rows.drawn) this.dress(node, row);
    this.drawRuler();
  }

  /** Brings the first of some lines into sight, if none is yet. @param {Iterable<number>} lines */
  reveal(lines) {
    const { scrollTop, clientHeight } = this.scroller;
    const { height } = this.rows;
    const tops = Array.from(lines, (line) => this.rowOf[line] * height);
    if (tops.length === 0 || tops.some((top) => top >= scrollTop && top + height <= scrollTop + clientHeight)) return;
    this.moveTo(Math.min(...Array.from(lines, (line) => this.rowOf[line])), true);
  }

  /** Puts the cursor into a row and brings it into sight. @param {number} row @param {boolean} [isCentered] */
  moveTo(row, isCentered = false) {
    this.rows.cursor = Math.max(0, Math.min(row, this.content.length - 1));
    this.rows.reveal(this.rows.cursor, isCentered);
    for (const [drawn, node] of this.rows.drawn) this.dress(node, drawn);
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (hasModifier(event)) return;
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      // Lines are longer than panes are wide.
      const distance = this.scroller.clientWidth / (event.shiftKey ? 1 : 5);
      this.scroller.scrollLeft += event.key === "ArrowRight" ? distance : -distance;
    } else if (event.key === "Enter" || event.key === " ") this.follow(this.rows.cursor);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {MouseEvent} event */
  click(event) {
    const isCopying = document.getSelection()?.isCollapsed === false;
    const row = this.rowUnder(event);
    if (isCopying || row >= this.content.length) return;
    this.moveTo(row);
    this.follow(row);
  }

  /** @param {number} row */
  follow(row) {
    const line = this.lineIn(row);
    if (line !== null) this.listener.follow(line);
  }

  /** @param {number | null} line */
  point(line) {
    if (line === this.pointed) return;
    this.pointed = line;
    this.listener.point(line);
  }

  /** @param {MouseEvent} event */
  rowUnder(event) {
    const { top } = this.scroller.getBoundingClientRect();
    return Math.floor((event.clientY - top + this.scroller.scrollTop) / this.rows.height);
  }

  /** Looks for a text, without regard to case; returns how many rows have it. @param {string} query */
  search(query) {
    this.query = query.toLowerCase();
    const has = (/** @type {number} */ row) => this.textIn(row).toLowerCase().includes(this.query);
    this.found = this.query === "" ? [] : [...this.content.keys()].filter(has);
    this.rows.redraw();
    this.drawRuler();
    return this.found.length;
  }

  /**
   * Goes to the next of some rows from the cursor on, or the previous one; returns its place among them, -1 for none.
   * @param {number[]} rows @param {1 | -1} direction @param {boolean} [isHere] Whether the row of the cursor counts.
   */
  step(rows, direction, isHere = false) {
    if (rows.length === 0) return -1;
    const { cursor } = this.rows;
    const after = (/** @type {number} */ row) => (row - cursor) * direction > 0 || (isHere && row === cursor);
    const next = direction > 0 ? rows.findIndex(after) : rows.findLastIndex(after);
    const place = next >= 0 ? next : direction > 0 ? 0 : rows.length - 1;
    this.moveTo(rows[place], true);
    // What was found may be beyond the pane's edge.
    this.rows.drawn.get(rows[place])?.querySelector("mark")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    return place;
  }

  /** @param {number} row */
  makeRow(row) {
    const line = this.lineIn(row);
    const whole = this.textIn(row);
    const shown = whole.slice(0, LONGEST);
    const sign = line === null ? "−" : this.isNew(row) ? "+" : "";
    const text = shown.trim() || "blank";
    const label = sign === "" ? (text === "blank" ? text : null) : `${line === null ? "removed" : "new"}: ${text}`;
    const isLinked = line !== null && (this.form?.links[line] ?? []).length > 0;
    const left = whole.length - shown.length;
    const node = element(
      "div.row",
      {
        role: "option", id: `listing-${this.number}-${row}`, "aria-label": label,
        "aria-setsize": this.content.length, "aria-posinset": row + 1,
      },
      element("span.row-number", { "aria-hidden": "true" }, line === null ? "" : String(line + 1)),
      element("span.row-sign", { "aria-hidden": "true" }, sign),
      element(
        "code.row-code",
        ...coloredLine(shown, this.form?.language ?? "", this.query),
        left > 0 ? element("span.quiet", ` … ${counted(left, "more character")}`) : null,
      ),
    );
    node.classList.toggle("is-removed", line === null);
    node.classList.toggle("is-new", sign === "+");
    node.classList.toggle("is-linked", isLinked);
    this.dress(node, row);
    return node;
  }

  /** @param {HTMLElement} node @param {number} row */
  dress(node, row) {
    const line = this.lineIn(row) ?? -1;
    const { lit, chosen, moment } = this.marks;
    node.classList.toggle("is-lit", lit.has(line));
    node.classList.toggle("is-chosen", chosen.has(line));
    node.classList.toggle("is-moment", moment.has(line));
    node.classList.toggle("is-cursor", row === this.rows.cursor);
    node.setAttribute("aria-selected", String(chosen.has(line) || lit.has(line)));
  }

  /** Where marks are in the whole text. */
  drawRulerNow() {
    const { clientHeight } = this.element;
    if (clientHeight === 0) return;
    const count = Math.max(this.content.length, Math.ceil(clientHeight / this.rows.height));
    const height = Math.max(LEAST_HEIGHT, clientHeight / count);
    /** @param {Iterable<number>} rows @param {string} color @param {number} [from] @param {number} [to] */
    const layer = (rows, color, from = 0, to = 1) => {
      // Many rows of a long text share a pixel.
      const tops = new Set(Array.from(rows, (row) => Math.round(Math.min((row / count) * clientHeight, clientHeight - height))));
      const [left, width] = [from * RULER, (to - from) * RULER];
      const bars = Array.from(tops, (top) => `M${left} ${top}h${width}v${height}h${-width}z`);
      return { d: bars.join(""), fill: styleColor(color) };
    };
    const rowsOf = (/** @type {Set<number>} */ lines) => Array.from(lines, (line) => this.rowOf[line]);
    draw(this.ruler, RULER, clientHeight, [
      layer(this.fresh, "--code-new", 0, 0.4),
      layer(this.gone, "--code-removed", 0, 0.4),
      layer(this.found, "--code-found", 0.6, 1),
      layer(rowsOf(this.marks.chosen), "--code-chosen"),
      layer(rowsOf(this.marks.lit), this.litColor),
      layer(rowsOf(this.marks.moment), "--code-moment"),
    ]);
  }
}
