// The roofline of a target as a drawing: what memory and each unit allow at each intensity, and where the kernel stands.
// Both axes are logarithmic.  Colours come as arguments, since a picture for a paper is not in the page's colours.

import { setAttributes, svg } from "page/elements.js";
import { amount, short } from "explorer/words.js";

/**
 * @typedef {import("./types").Cost} Cost
 * @typedef {{ ink: string, faint: string, line: string, roof: string, kernel: string, measured: string, ground: string }} Colours
 */

/**
 * Colours of the page, dark or light.
 * @type {Colours}
 */
export const PAGE_COLOURS = {
  ink: "var(--text)",
  faint: "var(--text-quiet)",
  line: "var(--border)",
  roof: "var(--read)",
  kernel: "var(--write)",
  measured: "var(--good)",
  ground: "var(--surface)",
};

/**
 * Black on white, told apart in print too.
 * @type {Colours}
 */
export const PAPER_COLOURS = {
  ink: "#1a1a1a",
  faint: "#666666",
  line: "#d9d9d9",
  roof: "#0072b2",
  kernel: "#d55e00",
  measured: "#007a5a",
  ground: "#ffffff",
};

const WIDTH = 800;
const HEIGHT = 400;
const PLOT = { left: 74, right: 560, top: 18, bottom: 348 };
/** Of two labels, from baseline to baseline. */
const LABEL_HEIGHT = 16;
const MOST_TICKS = 8;
/** About, of words at this size. */
const LETTER_WIDTH = 6.6;

/**
 * @param {Cost} cost
 * @param {string} kernel
 * @param {Colours} colours
 * @returns {SVGSVGElement}
 */
export function drawRoofline(cost, kernel, colours) {
  const { memory, point } = cost.roofline;
  const ceilings = cost.roofline.ceilings.filter((ceiling) => ceiling.value > 0).sort((one, two) => two.value - one.value || Number(two.used) - Number(one.used));
  const ridges = ceilings.map((ceiling) => ceiling.value / memory);
  const stands = point !== null && point.intensity > 0 && point.attainable > 0;
  const xs = [...ridges, ...(stands ? [point.intensity] : []), ...(ridges.length === 0 && !stands ? [1] : [])];
  const measured = cost.measured !== null && cost.measured > 0 && cost.flops > 0 ? cost.flops / cost.measured : null;
  const low = decade(Math.min(...xs) / 4, Math.floor);
  const high = decade(Math.max(...xs) * 3, Math.ceil);
  const top = ceilings.length > 0 ? ceilings[0].value * 2 : memory * high;
  const bottom = Math.min(memory * low, measured !== null ? measured / 2 : Infinity);
  const x = scale(low, high, PLOT.left, PLOT.right);
  const y = scale(bottom, top, PLOT.bottom, PLOT.top);

  const drawing = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    width: WIDTH,
    height: HEIGHT,
    class: "roofline",
    role: "img",
    "aria-label": description(cost, kernel),
    "font-family": "system-ui, sans-serif",
    "font-size": 12,
  });
  drawing.append(svg("rect", { x: 0, y: 0, width: WIDTH, height: HEIGHT, style: { fill: colours.ground } }));
  drawing.append(axes(low, high, bottom, top, x, y, colours));
  drawing.append(memoryRoof(memory, ceilings, low, high, stands ? point.intensity : null, x, y, colours));
  drawing.append(...ceilingRoofs(ceilings, memory, low, x, y, colours));
  if (stands) drawing.append(...kernelPoint(point, kernel, measured, x, y, colours));
  return drawing;
}

/**
 * The chart in words.
 * @param {Cost} cost
 * @param {string} kernel
 */
export function description(cost, kernel) {
  const { memory, ceilings } = cost.roofline;
  const units = ceilings.map((ceiling) => `${ceiling.name} ${amount(ceiling.value, "op/s")}`);
  return `Roofline of ${cost.title}: memory ${amount(memory, "B/s")}; ${units.join(", ")}. ${standing(cost, kernel)}`;
}

/**
 * Where the kernel stands, in words.
 * @param {Cost} cost
 * @param {string} kernel
 */
export function standing(cost, kernel) {
  const { memory, point } = cost.roofline;
  if (point === null) return `${kernel} computes nothing that counts here.`;
  const limit = point.intensity * memory > point.attainable * 1.0001 ? "units" : "memory";
  const reached = amount(point.attainable, "op/s");
  return `${kernel} has ${short(point.intensity)} operations a byte, and reaches at most ${reached}, the roof of ${limit}.`;
}

/**
 * A power of ten near a number.
 * @param {number} value
 * @param {(exponent: number) => number} rounded
 */
function decade(value, rounded) {
  return 10 ** rounded(Math.log10(value));
}

/**
 * @param {number} from
 * @param {number} to
 * @param {number} start
 * @param {number} end
 * @returns {(value: number) => number}
 */
function scale(from, to, start, end) {
  const span = Math.log(to / from);
  return (value) => start + (Math.log(value / from) / span) * (end - start);
}

/**
 * @param {number} low
 * @param {number} high
 * @param {number} bottom
 * @param {number} top
 * @param {(value: number) => number} x
 * @param {(value: number) => number} y
 * @param {Colours} colours
 */
function axes(low, high, bottom, top, x, y, colours) {
  const group = svg("g", {});
  for (const value of decades(low, high)) {
    const at = x(value);
    group.append(
      line(at, PLOT.top, at, PLOT.bottom, colours.line),
      label(at, PLOT.bottom + 18, tick(value), colours.faint, "middle"),
    );
  }
  for (const value of decades(bottom, top)) {
    const at = y(value);
    group.append(
      line(PLOT.left, at, PLOT.right, at, colours.line),
      label(PLOT.left - 8, at + 4, amount(value), colours.faint, "end"),
    );
  }
  const middle = (PLOT.top + PLOT.bottom) / 2;
  group.append(
    line(PLOT.left, PLOT.bottom, PLOT.right, PLOT.bottom, colours.faint),
    line(PLOT.left, PLOT.top, PLOT.left, PLOT.bottom, colours.faint),
    label((PLOT.left + PLOT.right) / 2, PLOT.bottom + 40, "operations a byte of memory", colours.ink, "middle"),
    label(16, middle, "operations a second", colours.ink, "middle", `rotate(-90 16 ${middle})`),
  );
  return group;
}

/**
 * Powers of ten, all of them or as many as have space.
 * @param {number} from
 * @param {number} to
 */
function decades(from, to) {
  const [first, last] = [Math.ceil(Math.log10(from) - 1e-9), Math.floor(Math.log10(to) + 1e-9)];
  const step = Math.ceil((last - first + 1) / MOST_TICKS);
  const values = [];
  for (let exponent = first; exponent <= last; exponent += step) values.push(10 ** exponent);
  return values;
}

/** @param {number} value */
function tick(value) {
  return value >= 1000 ? amount(value) : String(Number(value.toPrecision(1)));
}

/**
 * What memory allows: it grows with the intensity, up to the highest ceiling.
 * @param {number} memory
 * @param {{ value: number }[]} ceilings
 * @param {number} low
 * @param {number} high
 * @param {number | null} kernel The intensity of the kernel, which the name keeps away from.
 * @param {(value: number) => number} x
 * @param {(value: number) => number} y
 * @param {Colours} colours
 */
function memoryRoof(memory, ceilings, low, high, kernel, x, y, colours) {
  const end = ceilings.length > 0 ? ceilings[0].value / memory : high;
  const [fromX, fromY, toX, toY] = [x(low), y(memory * low), x(end), y(memory * end)];
  const angle = (Math.atan2(toY - fromY, toX - fromX) * 180) / Math.PI;
  const near = kernel !== null && x(kernel) < fromX + (toX - fromX) * 0.5;
  const along = near ? 0.72 : 0.28;
  const at = { x: fromX + (toX - fromX) * along, y: fromY + (toY - fromY) * along };
  return svg(
    "g",
    {},
    line(fromX, fromY, toX, toY, colours.roof, 2),
    label(at.x, at.y - 8, `memory, ${amount(memory, "B/s")}`, colours.roof, "middle", `rotate(${angle} ${at.x} ${at.y})`),
  );
}

/**
 * What each unit allows, from where memory feeds it on.  Names stand beside the plot, where nothing crosses them, and
 * are moved apart.
 * @param {{ name: string, value: number, used: boolean }[]} ceilings From the highest.
 * @param {number} memory
 * @param {number} low
 * @param {(value: number) => number} x
 * @param {(value: number) => number} y
 * @param {Colours} colours
 */
function ceilingRoofs(ceilings, memory, low, x, y, colours) {
  const heights = apart(ceilings.map((ceiling) => y(ceiling.value)));
  return ceilings.map((ceiling, place) => {
    const at = y(ceiling.value);
    const start = Math.max(x(ceiling.value / memory), x(low));
    const colour = ceiling.used ? colours.roof : colours.faint;
    const name = label(PLOT.right + 26, heights[place] + 4, "", ceiling.used ? colours.ink : colours.faint, "start");
    name.append(`${ceiling.name}, ${amount(ceiling.value, "op/s")}`);
    if (ceiling.used) name.setAttribute("font-weight", "600");
    const roof = line(start, at, PLOT.right, at, colour, ceiling.used ? 2 : 1);
    if (!ceiling.used) roof.setAttribute("stroke-dasharray", "4 3");
    return svg("g", {}, roof, line(PLOT.right, at, PLOT.right + 22, heights[place], colour), name);
  });
}

/**
 * Heights, from the top, moved so far apart that labels do not collide, and kept within the drawing.
 * @param {number[]} wanted
 * @returns {number[]}
 */
export function apart(wanted) {
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

/**
 * @param {{ intensity: number, attainable: number }} point
 * @param {string} kernel
 * @param {number | null} measured Operations a second that were reached.
 * @param {(value: number) => number} x
 * @param {(value: number) => number} y
 * @param {Colours} colours
 */
function kernelPoint(point, kernel, measured, x, y, colours) {
  const [atX, atY] = [x(point.intensity), y(point.attainable)];
  const stem = line(atX, atY, atX, PLOT.bottom, colours.kernel);
  stem.setAttribute("stroke-dasharray", "2 3");
  const name = kernel.length > 32 ? `${kernel.slice(0, 31)}…` : kernel;
  const numbers = `${short(point.intensity)} op/byte, at most ${amount(point.attainable, "op/s")}`;
  // To the right of the stem, below the roof, where there is space for it.
  const right = atX + 12 + Math.max(name.length, numbers.length) * LETTER_WIDTH < PLOT.right;
  const side = { x: atX + (right ? 12 : -12), anchor: right ? "start" : "end" };
  const first = Math.min(atY + 24, PLOT.bottom - 34);
  /** @type {SVGElement[]} */
  const parts = [
    stem,
    svg("circle", { cx: atX, cy: atY, r: 6, style: { fill: colours.kernel, stroke: colours.ground, "stroke-width": "2" } }),
    label(side.x, first, name, colours.kernel, side.anchor),
    label(side.x, first + LABEL_HEIGHT, numbers, colours.kernel, side.anchor),
  ];
  parts[2].setAttribute("font-weight", "600");
  if (measured !== null) {
    const height = y(measured);
    const below = Math.min(Math.max(height + 4, first + 2 * LABEL_HEIGHT), PLOT.bottom - 4);
    const diamond = `M ${atX} ${height - 6} l 6 6 l -6 6 l -6 -6 z`;
    parts.push(
      svg("path", { d: diamond, style: { fill: colours.measured, stroke: colours.ground } }),
      label(side.x, below, `measured: ${amount(measured, "op/s")}`, colours.measured, side.anchor),
    );
  }
  // Lines that cross these words do not cross them out.
  const clear = { "paint-order": "stroke", stroke: colours.ground, "stroke-width": "5px", "stroke-linejoin": "round" };
  for (const part of parts) if (part instanceof SVGTextElement) setAttributes(part, { style: clear });
  return parts;
}

/**
 * @param {number} fromX
 * @param {number} fromY
 * @param {number} toX
 * @param {number} toY
 * @param {string} colour
 * @param {number} [width]
 */
function line(fromX, fromY, toX, toY, colour, width = 1) {
  const style = { stroke: colour, "stroke-width": String(width) };
  return svg("line", { x1: fromX, y1: fromY, x2: toX, y2: toY, style });
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {string} colour
 * @param {string} anchor
 * @param {string} [transform]
 */
function label(x, y, words, colour, anchor, transform) {
  return svg("text", { x, y, "text-anchor": anchor, transform, style: { fill: colour } }, words);
}
