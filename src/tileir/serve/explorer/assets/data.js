// Answers of the Python side: from the server that gave this page, or from inside it.

import { product } from "explorer/text.js";
import { decoded, unpacked } from "page/page.js";

/** Answers that are kept. */
const KEPT = 256;
/** @type {Record<string, { new (bytes: ArrayBuffer): NumberArray }>} */
const TYPES = {
  u8: Uint8Array, i8: Int8Array, u16: Uint16Array, i16: Int16Array, u32: Uint32Array, i32: Int32Array,
  f32: Float32Array, f64: Float64Array,
};

/** Keeps answers: the same question gives the same object, which nobody changes. @param {Ask} source @returns {Ask} */
export function cached(source) {
  /** @type {Map<string, Promise<any>>} */
  const known = new Map();
  return (question, parameters = {}) => {
    const key = keyOf(question, parameters);
    const answer = known.get(key) ?? source(question, parameters);
    // The newest is the last.
    known.delete(key);
    known.set(key, answer);
    if (known.size > KEPT) known.delete([...known.keys()][0]);
    // An answer that failed may succeed when it is asked for again.
    answer.catch(() => known.delete(key));
    return answer;
  };
}

/** @param {string} question @param {QuestionParameters} parameters */
function keyOf(question, parameters) {
  const names = Object.keys(parameters).sort();
  return [question, ...names.map((name) => `${name}=${parameters[name]}`)].join("&");
}

/** @type {Ask} */
export async function answersOfServer(question, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)]));
  const asked = fetch(`answer/${encodeURIComponent(question)}?${query}`, { credentials: "omit" });
  const response = await asked.catch(() => {
    throw new Error("tileir explore has ended: start it again to load more");
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? `the server answered ${response.status}`);
  return answer;
}

/** The numbers of an answer; 64-bit integers become doubles. @param {Packed | NumberArray} packed @returns {NumberArray} */
export function unpack(packed) {
  if (ArrayBuffer.isView(packed)) return packed;
  const { buffer } = decoded(packed.data);
  if (packed.type === "i64") return Float64Array.from(new BigInt64Array(buffer), Number);
  if (packed.type === "u64") return Float64Array.from(new BigUint64Array(buffer), Number);
  return new TYPES[packed.type](buffer);
}

/**
 * Answers inside this page, as export.py packs them: bundles, each compressed.
 * @param {Record<string, string>} bundles @returns {Ask}
 */
export function answersInside(bundles) {
  /** @type {Map<string, Promise<any>>} */
  const opened = new Map();
  const open = (/** @type {string} */ name) => {
    if (!Object.hasOwn(bundles, name)) return null;
    const found = opened.get(name) ?? unpacked(bundles[name]);
    opened.set(name, found);
    return found;
  };
  return async (question, parameters = {}) => {
    // Accesses are carried in parts: one has as many rows as it has.
    const alone = open(keyOf(question, question === "accesses" ? { first: parameters.first ?? 0 } : parameters));
    if (alone !== null) return alone;
    // An array that nobody writes is the same at every step.
    const unchanged = question === "array" ? open(`array=${parameters.array}`) : null;
    if (unchanged !== null) return partOf(await unchanged, parameters);
    if (parameters.block !== undefined) {
      const bundle = await open(`block=${parameters.block}`);
      if (bundle === null) {
        throw new Error(`this page carries no values of tile block ${parameters.block}: the overview lists those it does`);
      }
      const answer = answerOfBlock(bundle, question, parameters);
      if (answer !== null) return answer;
    }
    throw new Error(`this page was exported without "${question}" for what is selected`);
  };
}

/** @param {BlockBundle} bundle @param {string} question @param {QuestionParameters} parameters */
function answerOfBlock(bundle, question, parameters) {
  if (question === "steps") return bundle.steps;
  const step = Number(parameters.step ?? 0);
  const last = question === "array" ? bundle.arraysLast : bundle.last;
  if (step > last) {
    const what = question === "array" ? "arrays" : "values";
    throw new Error(`this page carries ${what} of tile block ${parameters.block} up to step ${last}`);
  }
  if (question === "values") {
    /** @type {Map<number, History["values"][0]>} */
    const newest = new Map();
    for (const entry of bundle.values) {
      if (entry.step <= step && entry.step >= (newest.get(entry.value)?.step ?? 0)) newest.set(entry.value, entry);
    }
    const values = [...newest.values()].sort((first, second) => first.value - second.value);
    return { block: Number(parameters.block), step, values };
  }
  if (question === "variables") {
    const newest = bundle.variables.filter((one) => one.step <= step).pop();
    return newest === undefined ? null : { ...newest, step };
  }
  if (question === "tile") return partOf(newestOf(bundle.tiles, String(parameters.value), step), parameters);
  if (question === "array") return partOf(newestOf(bundle.arrays, String(parameters.array), step), parameters);
  return bundle.answers[keyOf(question, parameters)] ?? null;
}

/**
 * The newest of what is kept under `name@step`, at a step or before it.
 * @param {Record<string, Tile>} kept @param {string} name @param {number} step
 */
function newestOf(kept, name, step) {
  const steps = Object.keys(kept).map((key) => key.split("@")).filter(([of, at]) => of === name && Number(at) <= step);
  return steps.length === 0 ? null : kept[`${name}@${Math.max(...steps.map(([, at]) => Number(at)))}`];
}

/**
 * A part of a tile whose every element is here; one that is binned stays as it is.
 * @param {Tile | null} tile @param {QuestionParameters} parameters @returns {Tile | null}
 */
export function partOf(tile, parameters) {
  if (tile === null || tile.text === null || tile.binned !== null || parameters.start === undefined) return tile;
  const numbers = (/** @type {string | number} */ text) => (text === "" ? [] : String(text).split(",").map(Number));
  const { shape } = tile;
  const start = numbers(parameters.start);
  const wanted = parameters.extents === undefined ? shape : numbers(parameters.extents);
  const extents = shape.map((extent, axis) => Math.max(0, Math.min(wanted[axis], extent - start[axis])));
  const places = Array.from({ length: product(extents) }, (_, position) => {
    let [place, stride] = [0, 1];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      place += stride * (start[axis] + (position % extents[axis]));
      position = Math.floor(position / extents[axis]);
      stride *= shape[axis];
    }
    return place;
  });
  const all = unpack(tile.data);
  const data = Float64Array.from(places, (place) => all[place]);
  return { ...tile, start, extents, data, text: places.map((place) => /** @type {string[]} */ (tile.text)[place]) };
}
