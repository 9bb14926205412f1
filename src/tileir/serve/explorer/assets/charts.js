// Charts: the roofline of a target with the kernel on it, the waves in which a grid runs, the numbers of a tile.

import { svg } from "page/elements.js";
import { amount, counted, grouped, short } from "page/numbers.js";

const [INK, FAINT, LINE, ROOF, KERNEL, MEASURED, GROUND] = [
  "--text", "--text-quiet", "--border", "--read", "--write", "--good", "--surface",
].map((name) => `var(${name})`);
const WIDTH = 800;
const HEIGHT = 400;
const PLOT = { left: 74, right: 560, top: 18, bottom: 348 };
/** Of two labels, from baseline to baseline. */
const LABEL_HEIGHT = 16;
const MOST_TICKS = 8;
/** About, of a letter of a label. */
const LETTER_WIDTH = 6.6;
const LONGEST_NAME = 32;

/** @param {Cost} cost @param {string} kernel @returns {SVGSVGElement} */
export function drawRoofline(cost, kernel) {
  const { memory, point } = cost.roofline;
  const ceilings = cost.roofline.ceilings
    .filter((ceiling) => ceiling.value > 0)
    .sort((one, two) => two.value - one.value || Number(two.used) - Number(one.used));
  const stands = point !== null && point.intensity > 0 && point.attainable > 0 ? point : null;
  const measured = cost.measured !== null && cost.measured > 0 && cost.flops > 0 ? cost.flops / cost.measured : null;
  const intensities = [...ceilings.map((ceiling) => ceiling.value / memory), ...(stands === null ? [] : [stands.intensity])];
  if (intensities.length === 0) intensities.push(1);
  const low = 10 ** Math.floor(Math.log10(Math.min(...intensities) / 4));
  const high = 10 ** Math.ceil(Math.log10(Math.max(...intensities) * 3));
  const top = ceilings.length > 0 ? ceilings[0].value * 2 : memory * high;
  const bottom = Math.min(memory * low, measured === null ? Infinity : measured / 2);
  const x = logarithmic(low, high, PLOT.left, PLOT.right);
  const y = logarithmic(bottom, top, PLOT.bottom, PLOT.top);

  /** @type {(x1: number, y1: number, x2: number, y2: number, stroke: string, width?: number, dash?: string) => SVGElement} */
  const line = (x1, y1, x2, y2, stroke, width = 1, dash) =>
    svg("line", { x1, y1, x2, y2, "stroke-dasharray": dash, style: { stroke, "stroke-width": width } });
  /** @type {(x: number, y: number, text: string, fill: string, anchor: string, rest?: Attributes) => SVGElement} */
  const label = (x, y, text, fill, anchor, rest = {}) =>
    svg("text", { x, y, "text-anchor": anchor, style: { fill }, ...rest }, text);

  /** @returns {SVGElement[]} */
  function axes() {
    const middle = (PLOT.top + PLOT.bottom) / 2;
    return [
      ...decades(low, high).flatMap((value) => [
        line(x(value), PLOT.top, x(value), PLOT.bottom, LINE),
        label(x(value), PLOT.bottom + 18, value >= 1000 ? amount(value) : String(Number(value.toPrecision(1))), FAINT, "middle"),
      ]),
      ...decades(bottom, top).flatMap((value) => [
        line(PLOT.left, y(value), PLOT.right, y(value), LINE),
        label(PLOT.left - 8, y(value) + 4, amount(value), FAINT, "end"),
      ]),
      line(PLOT.left, PLOT.bottom, PLOT.right, PLOT.bottom, FAINT),
      line(PLOT.left, PLOT.top, PLOT.left, PLOT.bottom, FAINT),
      label((PLOT.left + PLOT.right) / 2, PLOT.bottom + 40, "operations a byte of memory", INK, "middle"),
      label(16, middle, "operations a second", INK, "middle", { transform: `rotate(-90 16 ${middle})` }),
    ];
  }

  /** What memory allows: it grows with the intensity, up to the highest ceiling. @returns {SVGElement[]} */
  function memoryRoof() {
    const end = ceilings.length > 0 ? ceilings[0].value / memory : high;
    const [fromX, fromY, toX, toY] = [x(low), y(memory * low), x(end), y(memory * end)];
    const angle = (Math.atan2(toY - fromY, toX - fromX) * 180) / Math.PI;
    // The name keeps away from the kernel.
    const along = stands !== null && x(stands.intensity) < (fromX + toX) / 2 ? 0.72 : 0.28;
    const [atX, atY] = [fromX + (toX - fromX) * along, fromY + (toY - fromY) * along];
    const transform = `rotate(${angle} ${atX} ${atY})`;
    return [
      line(fromX, fromY, toX, toY, ROOF, 2),
      label(atX, atY - 8, `memory, ${amount(memory, "B/s")}`, ROOF, "middle", { transform }),
    ];
  }

  /** What each unit allows.  Names stand beside the plot, where nothing crosses them, moved apart. */
  function ceilingRoofs() {
    const heights = apart(ceilings.map((ceiling) => y(ceiling.value)));
    return ceilings.flatMap(({ name, value, used }, place) => {
      const start = Math.max(x(value / memory), x(low));
      const color = used ? ROOF : FAINT;
      const weight = { "font-weight": used ? "600" : null };
      const text = `${name}, ${amount(value, "op/s")}`;
      return [
        line(start, y(value), PLOT.right, y(value), color, used ? 2 : 1, used ? undefined : "4 3"),
        line(PLOT.right, y(value), PLOT.right + 22, heights[place], color),
        label(PLOT.right + 26, heights[place] + 4, text, used ? INK : FAINT, "start", weight),
      ];
    });
  }

  /** @param {{ intensity: number, attainable: number }} at @returns {SVGElement[]} */
  function kernelPoint({ intensity, attainable }) {
    const [atX, atY] = [x(intensity), y(attainable)];
    const name = kernel.length > LONGEST_NAME ? `${kernel.slice(0, LONGEST_NAME - 1)}…` : kernel;
    const numbers = `${short(intensity)} op/byte, at most ${amount(attainable, "op/s")}`;
    // To the right of the stem, below the roof, where there is space for it.
    const isRight = atX + 12 + Math.max(name.length, numbers.length) * LETTER_WIDTH < PLOT.right;
    const first = Math.min(atY + 24, PLOT.bottom - 34);
    const speed = measured === null ? 0 : y(measured);
    const below = Math.min(Math.max(speed + 4, first + 2 * LABEL_HEIGHT), PLOT.bottom - 4);
    // Lines that cross these words do not cross them out.
    const clear = { "paint-order": "stroke", stroke: GROUND, "stroke-width": "5px", "stroke-linejoin": "round" };
    const style = { fill: INK, ...clear };
    const beside = (/** @type {number} */ y, /** @type {string} */ text, weight = "400") =>
      label(atX + (isRight ? 12 : -12), y, text, style.fill, isRight ? "start" : "end", { style, "font-weight": weight });
    const diamond = { d: `M ${atX} ${speed - 6} l 6 6 l -6 6 l -6 -6 z`, style: { fill: MEASURED, stroke: GROUND } };
    return [
      line(atX, atY, atX, PLOT.bottom, KERNEL, 1, "2 3"),
      svg("circle", { cx: atX, cy: atY, r: 6, style: { fill: KERNEL, stroke: GROUND, "stroke-width": "2" } }),
      beside(first, name, "600"),
      beside(first + LABEL_HEIGHT, numbers),
      ...(measured === null
        ? []
        : [svg("path", diamond), beside(below, `measured: ${amount(measured, "op/s")}`)]),
    ];
  }

  const units = cost.roofline.ceilings.map((ceiling) => `${ceiling.name} ${amount(ceiling.value, "op/s")}`);
  const text = `Roofline of ${cost.title}: memory ${amount(memory, "B/s")}; ${units.join(", ")}. ${standing(cost, kernel)}`;
  return svg(
    "svg.roofline",
    { ...frame(WIDTH, HEIGHT, text), width: WIDTH, height: HEIGHT, "font-size": 12 },
    svg("rect", { width: WIDTH, height: HEIGHT, style: { fill: GROUND } }),
    svg("g", ...axes()),
    ...memoryRoof(),
    ...ceilingRoofs(),
    ...(stands === null ? [] : kernelPoint(stands)),
  );
}

/** Where the kernel stands, in words. @param {Cost} cost @param {string} kernel */
export function standing({ roofline: { memory, point } }, kernel) {
  if (point === null) return `${kernel} computes nothing that counts here.`;
  const limit = point.intensity * memory > point.attainable * 1.0001 ? "units" : "memory";
  const reached = amount(point.attainable, "op/s");
  return `${kernel} has ${short(point.intensity)} operations a byte, and reaches at most ${reached}, the roof of ${limit}.`;
}

/** @param {number} width @param {number} height @param {string} label */
function frame(width, height, label) {
  return { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, "font-family": "system-ui, sans-serif" };
}

/** @param {number} from @param {number} to @param {number} start @param {number} end @returns {(value: number) => number} */
function logarithmic(from, to, start, end) {
  return (value) => start + (Math.log(value / from) / Math.log(to / from)) * (end - start);
}

/** Powers of ten, all of them or as many as have space. @param {number} from @param {number} to */
function decades(from, to) {
  const [first, last] = [Math.ceil(Math.log10(from) - 1e-9), Math.floor(Math.log10(to) + 1e-9)];
  const step = Math.ceil((last - first + 1) / MOST_TICKS);
  const values = [];
  for (let exponent = first; exponent <= last; exponent += step) values.push(10 ** exponent);
  return values;
}

/** Heights, from the top, moved apart so that labels do not collide, within the drawing. @param {number[]} wanted */
function apart(wanted) {
  const heights = [...wanted];
  for (let place = 1; place < heights.length; place++) {
    heights[place] = Math.max(heights[place], heights[place - 1] + LABEL_HEIGHT);
  }
  let limit = HEIGHT - 8;
  for (let place = heights.length - 1; place >= 0; place--) {
    heights[place] = Math.min(heights[place], limit);
    limit = heights[place] - LABEL_HEIGHT;
  }
  return heights;
}

// ---- Waves ----

const WAVES = { width: 360, height: 84, floor: 62, top: 6 };
/** With more waves than these, those in the middle are one break in the row: all of them are full. */
const MOST_COLUMNS = 24;
const AFTER_BREAK = 4;

/** A column for each wave, filled as far as the target is busy in it. @param {Cost["waves"]} waves @returns {SVGSVGElement} */
export function drawWaves({ blocks, atOnce, waves, tail }) {
  const { width, height, floor, top } = WAVES;
  const count = Math.max(1, Math.ceil(waves - 1e-9));
  const isCut = count > MOST_COLUMNS;
  const columns = Math.min(MOST_COLUMNS, count);
  const step = Math.min(40, width / columns);
  const label =
    `${counted(blocks, "tile block")}, ${grouped(atOnce)} at once: ${counted(count, "wave")}, ` +
    `the last one ${short(tail * 100)} % full`;
  const text = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ words, anchor = "middle") =>
    svg("text", { x, y, "text-anchor": anchor, style: { fill: "var(--text-quiet)" } }, words);
  const parts = Array.from({ length: columns }, (_, column) => {
    const left = column * step;
    if (isCut && column === columns - AFTER_BREAK - 1) return [text(left + step / 2, (floor + top) / 2 + 4, "…")];
    const isLast = column === columns - 1;
    const full = Math.max(1, (floor - top) * (isLast ? tail : 1));
    const box = { x: left + 1, width: Math.max(1, step - 2) };
    const fill = isLast && tail < 1 ? "var(--write)" : "var(--read)";
    const bars = [
      svg("rect", { ...box, y: top, height: floor - top, style: { fill: "var(--surface-sunken)" } }),
      svg("rect", { ...box, y: floor - full, height: full, style: { fill } }),
    ];
    if (column > 0 && !isLast) return bars;
    const anchor = step >= 20 ? "middle" : isLast ? "end" : "start";
    const at = { start: left, middle: left + step / 2, end: left + step }[anchor];
    return [...bars, text(at, floor + 15, grouped(isLast ? count : 1), anchor)];
  });
  return svg("svg.waves", { ...frame(width, height, label), "font-size": 11 }, ...parts.flat());
}

// ---- Numbers of a tile ----

const HISTOGRAM = { width: 320, height: 96, left: 8, floor: 76, top: 14 };

/** How the numbers of a tile are spread. @param {Statistics} statistics @param {string} name */
export function drawHistogram({ histogram, least, most }, name) {
  const { width, height, left, floor, top } = HISTOGRAM;
  const right = width - left;
  if (least === null || most === null) return svg("svg.histogram", frame(width, height, `${name} has no finite number`));
  const largest = Math.max(1, ...histogram);
  const across = (right - left) / Math.max(1, histogram.length);
  const step = (most - least) / histogram.length;
  const bars = histogram.map((count, index) => {
    const high = count === 0 ? 0 : Math.max(1, (count / largest) * (floor - top));
    const place = { x: left + index * across, y: floor - high, width: Math.max(0.5, across - (across > 3 ? 1 : 0)), height: high };
    const range = `${short(least + index * step)} to ${short(least + (index + 1) * step)}: ${grouped(count)}`;
    return count === 0 ? null : svg("rect.bar", place, svg("title", range));
  });
  const zero = left + ((right - left) * -least) / (most - least);
  const hasZero = least < 0 && most > 0;
  const range = `${histogram.length} parts from ${short(least)} to ${short(most)}`;
  return svg(
    "svg.histogram",
    frame(width, height, `Histogram of ${name}: ${range}, the fullest has ${grouped(largest)} elements`),
    ...bars,
    svg("line.axis", { x1: left, x2: right, y1: floor, y2: floor }),
    svg("text.label", { x: left, y: height - 6 }, short(least)),
    svg("text.label", { x: right, y: height - 6, "text-anchor": "end" }, short(most)),
    svg("text.label", { x: right, y: top - 4, "text-anchor": "end" }, `${grouped(largest)} at most`),
    hasZero ? svg("line.axis", { x1: zero, x2: zero, y1: top, y2: floor, "stroke-dasharray": "2 2" }) : null,
  );
}
