// Rows of one height of which only those in sight are in the page: a hundred thousand scroll as ten do.

/** Rows that are made above and below those in sight. */
const BEYOND = 12;

export class VirtualRows {
  /**
   * @param {HTMLElement} scroller  What scrolls, and has the focus.
   * @param {HTMLElement} sheet  Has the height of all rows.
   * @param {(row: number) => HTMLElement} make
   * @param {number} height  In pixels.
   */
  constructor(scroller, sheet, make, height) {
    this.scroller = scroller;
    this.sheet = sheet;
    this.make = make;
    this.height = height;
    this.count = 0;
    this.cursor = -1;
    /** Pixels at the top that a header covers. */
    this.covered = 0;
    /** @type {Map<number, HTMLElement>} */
    this.drawn = new Map();
    scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.redraw()).observe(scroller);
  }

  /** Rows that Page Up and Page Down move by. */
  get page() {
    return Math.max(1, Math.floor((this.scroller.clientHeight - this.covered) / this.height) - 1);
  }

  /** Shows other rows. @param {number} count */
  show(count) {
    this.count = count;
    this.cursor = -1;
    this.scroller.scrollTop = 0;
    this.redraw();
  }

  /** Makes all rows in sight again. */
  redraw() {
    for (const node of this.drawn.values()) node.remove();
    this.drawn.clear();
    this.sheet.style.height = `${this.count * this.height}px`;
    this.draw();
  }

  /** Makes the rows in sight, and drops the others. */
  draw() {
    const { scrollTop, clientHeight } = this.scroller;
    const first = Math.max(0, Math.floor(scrollTop / this.height) - BEYOND);
    const last = Math.min(this.count, Math.ceil((scrollTop + clientHeight) / this.height) + BEYOND);
    for (const [row, node] of this.drawn) {
      if (row >= first && row < last) continue;
      node.remove();
      this.drawn.delete(row);
    }
    for (let row = first; row < last; row++) {
      if (this.drawn.has(row)) continue;
      const node = this.make(row);
      Object.assign(node.style, { position: "absolute", top: `${row * this.height}px` });
      this.drawn.set(row, node);
      this.sheet.append(node);
    }
    const current = this.drawn.get(this.cursor);
    if (current === undefined) this.scroller.removeAttribute("aria-activedescendant");
    else this.scroller.setAttribute("aria-activedescendant", current.id);
  }

  /** Brings a row into sight. @param {number} row @param {boolean} [isCentered] */
  reveal(row, isCentered = false) {
    const top = row * this.height;
    const room = this.scroller.clientHeight - this.covered;
    if (isCentered) this.scroller.scrollTop = top - (room - this.height) / 2;
    else if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + this.height > this.scroller.scrollTop + room) this.scroller.scrollTop = top + this.height - room;
    this.draw();
  }
}
