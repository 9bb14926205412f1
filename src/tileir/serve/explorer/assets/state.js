// The state of the page: what is selected.

import { mainValue } from "explorer/text.js";

/** @type {ViewState} */
export const BEGINNING = { view: "", place: 0, step: 0, operation: null, value: null, array: null, form: "", marked: [] };

/**
 * Where the page opens: the first finding; else the end of the launch that failed, or of its first tile block.
 * @param {Context} context @returns {Promise<ViewState>}
 */
export async function firstState({ summary, steps, order, ask }) {
  if (steps.length === 0) return BEGINNING;
  const first = summary.findings === 0 ? null : firstFinding(/** @type {Findings} */ (await ask("findings")));
  // All arrays are shown, and the one of the finding among them.
  if (first !== null) return { ...BEGINNING, ...stateOf({ summary, order }, first.place, accessesOf(first)), array: null };
  const place = summary.failure === null ? 0 : steps.length - 1;
  return { ...BEGINNING, place, step: steps[place] };
}

/** The first finding with a known step. @param {Findings} answer */
export function firstFinding({ findings }) {
  return findings.find(({ note, place }) => !note && place.block !== null && place.step !== null) ?? null;
}

/** The accesses that a finding is about. @param {Finding} finding */
export function accessesOf({ place, other }) {
  return [place.access, other?.access ?? null].flatMap((row) => (row === null ? [] : [row]));
}

/**
 * The state that shows a place of a finding.
 * @param {Pick<Context, "summary" | "order">} context @param {FindingPlace} found @param {number[]} marked
 * @returns {Partial<ViewState>}
 */
export function stateOf({ summary, order }, found, marked) {
  const info = found.operation === null ? undefined : summary.operations[found.operation];
  const place = found.block === null ? -1 : order.indexOf(found.block);
  return {
    marked,
    operation: found.operation,
    ...(place < 0 ? {} : { place }),
    ...(place < 0 || found.step === null ? {} : { step: found.step }),
    ...(found.array === null ? {} : { array: found.array }),
    ...(info === undefined ? {} : { value: mainValue(info, summary.values) }),
  };
}

/**
 * A state inside of what the launch has.
 * @param {Context} context @param {View[]} views @param {ViewState} state @returns {ViewState}
 */
export function limitedState({ summary, steps }, views, state) {
  const known = (/** @type {number | null} */ number, /** @type {number} */ count) =>
    number !== null && number < count ? number : null;
  const place = Math.max(0, Math.min(state.place, steps.length - 1));
  return {
    view: views.some((view) => view.id === state.view) ? state.view : views[0].id,
    place,
    step: steps.length === 0 ? 0 : Math.max(0, Math.min(state.step, steps[place])),
    operation: known(state.operation, summary.operations.length),
    value: known(state.value, summary.values.length),
    array: known(state.array, summary.arrays.length),
    form: summary.forms.some((form) => form.id === state.form) ? state.form : "",
    marked: state.marked.filter((row) => row < summary.recording.accesses),
  };
}
