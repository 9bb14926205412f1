// What is looked at: it stands in the page's address, so that going back, a bookmark or a link brings the same rows.

/** @typedef {import("./types").Selection} Selection */

/** @type {Selection} */
const BEGINNING = { view: "kinds", kind: "", outcome: "", step: "", search: "", sort: "", program: null };
const WORDS = /** @type {const} */ (["kind", "outcome", "step", "search", "sort"]);

/**
 * A selection as the part of an address behind the `#`.
 * @param {Selection} selection
 */
export function written(selection) {
  const words = new URLSearchParams({ view: selection.view });
  for (const name of WORDS) if (selection[name] !== "") words.set(name, selection[name]);
  if (selection.program !== null) words.set("program", String(selection.program));
  return words.toString();
}

/**
 * The selection that an address has.  Anybody may have written it: what makes no sense is left out.
 * @param {string} hash
 * @param {string[]} views
 * @param {number} programs
 * @returns {Selection}
 */
export function read(hash, views, programs) {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const found = { ...BEGINNING };
  const view = words.get("view") ?? "";
  found.view = views.includes(view) ? view : views[0];
  for (const name of WORDS) found[name] = words.get(name) ?? "";
  const program = words.get("program");
  if (program !== null && /^[0-9]{1,9}$/.test(program) && Number(program) < programs) found.program = Number(program);
  return found;
}
