// The rows of a listing: the lines of a form, and between them those that the form before it had.

/** @typedef {import("./types").Form} Form */

export class Rows {
  /** @param {Form | null} form */
  constructor(form) {
    this.form = form;
    const lines = form?.lines.length ?? 0;
    const removed = form?.removed ?? [];
    const order = removed.map((_, number) => number).sort((one, two) => at(one) - at(two) || one - two);
    this.count = lines + removed.length;
    /** For each row its line, or -1 - n for the n-th removed one. */
    this.content = new Int32Array(this.count);
    /** The row of each line. */
    this.rowOf = new Int32Array(lines);
    let next = 0;
    let row = 0;
    for (let line = 0; line <= lines; line++) {
      while (next < order.length && (at(order[next]) <= line || line === lines)) this.content[row++] = -1 - order[next++];
      if (line === lines) break;
      this.rowOf[line] = row;
      this.content[row++] = line;
    }

    /** @param {number} number */
    function at(number) {
      return removed[number].line;
    }
  }

  /**
   * The line in a row; null for a removed one.
   * @param {number} row
   * @returns {number | null}
   */
  line(row) {
    const line = this.content[row];
    return line === undefined || line < 0 ? null : line;
  }

  /** @param {number} row */
  isRemoved(row) {
    return this.content[row] < 0;
  }

  /** @param {number} row */
  isNew(row) {
    const line = this.line(row);
    return line !== null && (this.form?.changed ?? [])[line] === 1;
  }

  /** @param {number} row */
  isLinked(row) {
    const line = this.line(row);
    return line !== null && (this.form?.links[line] ?? []).length > 0;
  }

  /**
   * @param {number} row
   * @returns {string}
   */
  text(row) {
    if (this.form === null) return "";
    const line = this.content[row];
    return line < 0 ? (this.form.removed ?? [])[-1 - line].text : this.form.lines[line];
  }

  /**
   * The rows that are so.
   * @param {(row: number) => boolean} test
   */
  where(test) {
    const found = [];
    for (let row = 0; row < this.count; row++) if (test(row)) found.push(row);
    return found;
  }

  /** The first row of each group of new and removed ones. */
  changes() {
    const differs = (/** @type {number} */ row) => this.isNew(row) || this.isRemoved(row);
    return this.where((row) => differs(row) && (row === 0 || !differs(row - 1)));
  }

  /** How many columns the longest row takes. */
  columns() {
    let most = 0;
    for (let row = 0; row < this.count; row++) {
      const text = this.text(row);
      most = Math.max(most, text.length + 7 * (text.split("\t").length - 1));
    }
    return most;
  }
}
