// Answers of the Python side: from the server that gave this page, or from inside it.

import { decoded, inflated } from "page/packing.js";

/**
 * @typedef {import("./types").Packed} Packed
 * @typedef {import("./types").Tile} Tile
 * @typedef {Record<string, string | number>} Parameters
 * @typedef {Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array | Float32Array | Float64Array} NumberArray
 */

/** How much text of answers is kept, in characters. */
const KEPT = 128 * 1024 * 1024;

/**
 * Where answers come from.
 * @typedef {object} Source
 * @property {(question: string, parameters: Parameters) => Promise<{ answer: unknown, size: number }>} answer
 */

/**
 * Remembers answers: the same question gives the same object, which nobody changes.
 * @param {Source} source
 * @returns {<T>(question: string, parameters?: Parameters) => Promise<T>}
 */
export function asking(source) {
  /** @type {Map<string, { answer: Promise<unknown>, size: number }>} */
  const known = new Map();
  let total = 0;
  return (question, parameters = {}) => {
    const key = keyOf(question, parameters);
    const found = known.get(key);
    if (found !== undefined) {
      known.delete(key);
      known.set(key, found);
      return /** @type {Promise<any>} */ (found.answer);
    }
    const entry = { answer: /** @type {Promise<unknown>} */ (Promise.resolve()), size: 0 };
    entry.answer = source.answer(question, parameters).then(
      ({ answer, size }) => {
        entry.size = size;
        total += size;
        for (const [oldest, { size: freed }] of known) {
          if (total <= KEPT || oldest === key) break;
          known.delete(oldest);
          total -= freed;
        }
        return answer;
      },
      (error) => {
        // An answer that failed may succeed when it is asked for again.
        known.delete(key);
        throw error;
      },
    );
    known.set(key, entry);
    return /** @type {Promise<any>} */ (entry.answer);
  };
}

/**
 * @param {string} question
 * @param {Parameters} parameters
 */
function keyOf(question, parameters) {
  const words = Object.keys(parameters).sort().map((name) => `${name}=${parameters[name]}`);
  return [question, ...words].join("&");
}

/**
 * The server that gave this page.
 * @returns {Source}
 */
export function server() {
  return {
    async answer(question, parameters) {
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries(parameters)) query.set(name, String(value));
      let response;
      try {
        response = await fetch(`answer/${encodeURIComponent(question)}?${query}`, { credentials: "omit" });
      } catch {
        throw new Error("tileir explore has ended: start it again to ask for more");
      }
      const text = await response.text();
      if (!response.ok) throw new Error(wordsOf(text) ?? `the server answered ${response.status}`);
      return { answer: JSON.parse(text), size: text.length };
    },
  };
}

/**
 * The reason that an answer with an error status has.
 * @param {string} text
 */
function wordsOf(text) {
  try {
    const reason = JSON.parse(text).error;
    return typeof reason === "string" ? reason : null;
  } catch {
    return null;
  }
}

/**
 * Numbers of a packed array.  64-bit integers become doubles: `exactly` gives those that are larger than a double holds.
 * @param {Packed} packed
 * @returns {NumberArray}
 */
export function unpack(packed) {
  const bytes = decoded(packed.data);
  switch (packed.type) {
    case "u8":
      return bytes;
    case "i8":
      return new Int8Array(bytes.buffer);
    case "u16":
      return new Uint16Array(bytes.buffer);
    case "i16":
      return new Int16Array(bytes.buffer);
    case "u32":
      return new Uint32Array(bytes.buffer);
    case "i32":
      return new Int32Array(bytes.buffer);
    case "f32":
      return new Float32Array(bytes.buffer);
    case "f64":
      return new Float64Array(bytes.buffer);
    case "i64":
      return Float64Array.from(new BigInt64Array(bytes.buffer), Number);
    case "u64":
      return Float64Array.from(new BigUint64Array(bytes.buffer), Number);
    default:
      throw new Error(`numbers of an unknown type: ${packed.type}`);
  }
}

/**
 * 64-bit integers as they are.
 * @param {Packed} packed
 * @returns {BigInt64Array | BigUint64Array}
 */
export function exactly(packed) {
  const bytes = decoded(packed.data);
  if (packed.type === "i64") return new BigInt64Array(bytes.buffer);
  if (packed.type === "u64") return new BigUint64Array(bytes.buffer);
  return BigInt64Array.from(Array.from(unpack(packed), (number) => BigInt(Math.trunc(number))));
}

/**
 * What an exported page carries, as serve/explorer/export.py packs it: bundles of answers, each compressed.
 * @typedef {{ bundles: Record<string, string> }} Embedded
 *
 * The bundle of a tile block: its steps, each value at each moment it was computed, and the tiles of those.
 * @typedef {object} BlockBundle
 * @property {import("./types").Steps} steps
 * @property {number} last  The step up to which values are here.
 * @property {import("./types").History["values"]} values
 * @property {import("./types").Variables[]} variables  At the steps at which they change.
 * @property {Record<string, Tile>} tiles
 * @property {Record<string, Tile>} arrays
 * @property {number} arraysLast  The step up to which arrays are here.
 * @property {Record<string, unknown>} answers
 */

/**
 * Answers inside this page.
 * @param {Embedded} embedded
 * @returns {Source}
 */
export function inside(embedded) {
  /** @type {Map<string, Promise<any>>} */
  const opened = new Map();
  /** @param {string} name */
  const open = (name) => {
    if (!Object.hasOwn(embedded.bundles, name)) return null;
    let found = opened.get(name);
    if (found === undefined) {
      found = inflated(embedded.bundles[name]).then((text) => JSON.parse(text));
      opened.set(name, found);
    }
    return found;
  };
  return {
    async answer(question, parameters) {
      // Accesses are carried in parts: one has as many rows as it has.
      const asked = question === "accesses" ? { first: parameters.first ?? 0 } : parameters;
      const key = keyOf(question, asked);
      const alone = open(key);
      if (alone !== null) return { answer: await alone, size: 0 };
      // An array that nobody writes is the same at every moment.
      const unchanged = question === "array" ? open(`array=${parameters.array}`) : null;
      if (unchanged !== null) return { answer: part(await unchanged, parameters), size: 0 };
      if (parameters.block !== undefined) {
        const bundle = await open(`block=${parameters.block}`);
        if (bundle === null) {
          throw new Error(`this page carries no values of tile block ${parameters.block}: the overview lists those it does`);
        }
        const answer = fromBlock(bundle, question, parameters);
        if (answer !== null) return { answer, size: 0 };
      }
      throw new Error(`this page was exported without "${question}" for what is selected`);
    },
  };
}

/**
 * @param {BlockBundle} bundle
 * @param {string} question
 * @param {Parameters} parameters
 */
function fromBlock(bundle, question, parameters) {
  if (question === "steps") return bundle.steps;
  const step = Number(parameters.step ?? 0);
  const last = question === "array" ? bundle.arraysLast : bundle.last;
  if (step > last) {
    throw new Error(`this page carries ${question === "array" ? "arrays" : "values"} of tile block ${parameters.block} up to step ${last}`);
  }
  if (question === "values") {
    /** @type {Map<number, { value: number, step: number, text: string }>} */
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
  if (question === "tile") return part(newestOf(bundle.tiles, String(parameters.value), step), parameters);
  if (question === "array") return part(newestOf(bundle.arrays, String(parameters.array), step), parameters);
  return bundle.answers[keyOf(question, parameters)] ?? null;
}

/**
 * The newest of what is kept under `name@step`, at a step or before it.
 * @param {Record<string, Tile>} kept
 * @param {string} name
 * @param {number} step
 */
function newestOf(kept, name, step) {
  let best = -1;
  for (const key of Object.keys(kept)) {
    const [before, after] = key.split("@");
    const at = Number(after);
    if (before === name && at <= step && at > best) best = at;
  }
  return best < 0 ? null : kept[`${name}@${best}`];
}

/**
 * A part of a tile whose every element is here.
 * @param {Tile | null} tile
 * @param {Parameters} parameters
 * @returns {Tile | null}
 */
export function part(tile, parameters) {
  if (tile === null || parameters.start === undefined) return tile;
  // A tile that was binned cannot be looked at more closely: what there is says that it is binned.
  if (tile.binned !== null || tile.text === null) return tile;
  const rank = tile.shape.length;
  const start = numbersOf(parameters.start);
  const wanted = parameters.extents === undefined ? tile.shape : numbersOf(parameters.extents);
  const extents = tile.shape.map((extent, axis) => Math.max(0, Math.min(wanted[axis], extent - start[axis])));
  const count = extents.reduce((product, extent) => product * extent, 1);
  const all = unpack(tile.data);
  const data = new Float64Array(count);
  /** @type {string[]} */
  const text = new Array(count);
  const index = new Array(rank).fill(0);
  for (let position = 0; position < count; position += 1) {
    let place = 0;
    for (let axis = 0; axis < rank; axis += 1) place = place * tile.shape[axis] + start[axis] + index[axis];
    data[position] = all[place];
    text[position] = tile.text[place];
    for (let axis = rank - 1; axis >= 0; axis -= 1) {
      index[axis] += 1;
      if (index[axis] < extents[axis]) break;
      index[axis] = 0;
    }
  }
  return { ...tile, start, extents, data: packed(data, extents), text };
}

/** @param {string | number} text */
function numbersOf(text) {
  return String(text) === "" ? [] : String(text).split(",").map(Number);
}

/**
 * @param {Float64Array} numbers
 * @param {number[]} shape
 * @returns {Packed}
 */
function packed(numbers, shape) {
  const bytes = new Uint8Array(numbers.buffer);
  let characters = "";
  for (const byte of bytes) characters += String.fromCharCode(byte);
  return { type: "f64", shape, data: btoa(characters) };
}
