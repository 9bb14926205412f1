// What is looked at: the selection, which stands in the page's address, so that going back, a bookmark or a link brings
// the same moment.

import { unpack } from "explorer/data.js";
import { tellingValue } from "explorer/words.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Finding} Finding
 * @typedef {import("./types").FindingPlace} FindingPlace
 * @typedef {import("./types").Findings} Findings
 * @typedef {import("./types").Selection} Selection
 * @typedef {import("./types").Summary} Summary
 */

const MARKED_AT_MOST = 64;

/** @returns {Selection} */
export function beginning() {
  return { view: "overview", place: 0, step: 0, operation: null, value: null, array: null, form: null, marked: [] };
}

/**
 * What the page opens at: the first finding; else the end of the launch that failed, or of its first tile block.
 * @param {Summary} summary
 * @param {Context["ask"]} ask
 * @returns {Promise<Selection>}
 */
export async function opening(summary, ask) {
  const begin = beginning();
  const steps = unpack(summary.recording.steps);
  if (steps.length === 0) return begin;
  const first = summary.findings === 0 ? null : firstFinding(/** @type {Findings} */ (await ask("findings")));
  // All arrays are shown, and the one of the finding among them.
  if (first !== null) return { ...begin, ...momentOf(summary, first.place, accessesOf(first)), array: null };
  const place = summary.failure === null ? 0 : steps.length - 1;
  return { ...begin, place, step: steps[place] };
}

/**
 * The first finding that has a moment.
 * @param {Findings} answer
 */
export function firstFinding({ findings }) {
  return findings.find(({ note, place }) => !note && place.block !== null && place.step !== null) ?? null;
}

/**
 * The accesses that a finding is about.
 * @param {Finding} finding
 */
export function accessesOf({ place, other }) {
  return [place.access, other?.access ?? null].filter((row) => row !== null).map(Number);
}

/**
 * What the page looks at to see a place of a finding.
 * @param {Summary} summary
 * @param {FindingPlace} place
 * @param {number[]} rows
 */
export function momentOf(summary, place, rows) {
  /** @type {Partial<Selection>} */
  const change = { marked: rows, operation: place.operation };
  if (place.block !== null) {
    const at = unpack(summary.recording.order).indexOf(place.block);
    if (at >= 0) {
      change.place = at;
      if (place.step !== null) change.step = place.step;
    }
  }
  if (place.array !== null) change.array = place.array;
  const info = place.operation === null ? undefined : summary.operations[place.operation];
  if (info !== undefined) change.value = tellingValue(info, summary.values);
  return change;
}

/**
 * A selection as the part of an address behind the `#`.
 * @param {Selection} selection
 */
export function written(selection) {
  const words = new URLSearchParams({ view: selection.view });
  if (selection.place > 0) words.set("place", String(selection.place));
  if (selection.step > 0) words.set("step", String(selection.step));
  for (const name of /** @type {const} */ (["operation", "value", "array"])) {
    const number = selection[name];
    if (number !== null) words.set(name, String(number));
  }
  if (selection.form !== null) words.set("form", selection.form);
  if (selection.marked.length > 0) words.set("marked", selection.marked.join(","));
  return words.toString();
}

/**
 * The selection that an address has.  Anybody may have written it: what makes no sense is left out.
 * @param {string} hash
 * @returns {Selection}
 */
export function read(hash) {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    view: words.get("view") ?? "overview",
    place: natural(words.get("place")) ?? 0,
    step: natural(words.get("step")) ?? 0,
    operation: natural(words.get("operation")),
    value: natural(words.get("value")),
    array: natural(words.get("array")),
    form: words.get("form"),
    marked: (words.get("marked") ?? "")
      .split(",")
      .map(natural)
      .filter((number) => number !== null)
      .map(Number)
      .slice(0, MARKED_AT_MOST),
  };
}

/** @param {string | null} text */
function natural(text) {
  return text !== null && /^[0-9]{1,15}$/.test(text) ? Number(text) : null;
}

/**
 * Keeps selections inside of what the launch has.
 * @param {Summary} summary
 * @param {string[]} views
 * @returns {(selection: Selection) => Selection}
 */
export function limiting(summary, views) {
  const steps = unpack(summary.recording.steps);
  /**
   * @param {number | null} number
   * @param {number} count
   */
  const known = (number, count) => (number !== null && number < count ? number : null);
  return (selection) => {
    const place = Math.max(0, Math.min(selection.place, steps.length - 1));
    return {
      view: views.includes(selection.view) ? selection.view : views[0],
      place,
      step: steps.length === 0 ? 0 : Math.max(0, Math.min(selection.step, steps[place])),
      operation: known(selection.operation, summary.operations.length),
      value: known(selection.value, summary.values.length),
      array: known(selection.array, summary.arrays.length),
      form: summary.forms.some((form) => form.id === selection.form) ? selection.form : null,
      marked: selection.marked.filter((row) => row < summary.recording.accesses),
    };
  };
}

/**
 * @param {Selection} first
 * @param {Selection} second
 */
export function equal(first, second) {
  return written(first) === written(second);
}
