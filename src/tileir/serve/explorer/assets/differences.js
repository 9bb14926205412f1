// Where two runs differ: the moments of a tile block, the first of the launch, and arrays at its end.

import { button, choice, element, empty, field, fill, svg } from "page/elements.js";
import { precise } from "explorer/histogram.js";
import { blockName, counted, grouped } from "explorer/words.js";

/**
 * @typedef {import("./types").Comparison} Comparison
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Difference} Difference
 * @typedef {import("./types").DifferentMoment} DifferentMoment
 */

/** So many moments are listed at once. */
const LISTED = 200;
const CHART = { width: 360, height: 90, left: 40, bottom: 18, top: 6, right: 6 };

/**
 * How far apart, in words.
 * @param {Difference} difference
 */
export function distance(difference) {
  if (difference.largest === null) return "NaN or infinity against a number";
  const ulps = difference.ulps === null ? "" : `${precise(difference.ulps, 4)} ulps, `;
  const relative = difference.relative === null ? "" : `, relative ${precise(difference.relative, 2)}`;
  return `${ulps}${precise(difference.largest, 3)} at most${relative}`;
}

/**
 * @param {Context} context
 * @param {(id: string | null) => void} chosen
 */
export function createDifferences(context, chosen) {
  const { summary } = context;
  const options = [
    { value: "", title: "nothing" },
    ...summary.comparisons.map((one) => ({
      value: one.id,
      title: one.reason === null ? one.title : `${one.title} (${one.reason})`,
      disabled: one.reason !== null,
    })),
  ];
  const select = choice(options, "", (id) => chosen(id === "" ? null : id), { "aria-label": "Compare with" });
  const content = element("div", { class: "differences", "aria-live": "polite" });
  let onlyWrong = true;
  /** @type {Comparison | null} */
  let shown = null;

  /** @param {DifferentMoment} moment */
  function go(moment) {
    context.select({ step: moment.step, operation: moment.operation, value: moment.value });
  }

  /** @param {Comparison} comparison */
  function listing(comparison) {
    const wrong = comparison.differences.filter((one) => one.wrong);
    const filtered = onlyWrong && wrong.length > 0;
    const moments = filtered ? wrong : comparison.differences;
    const { selection } = context;
    const rows = moments.slice(0, LISTED).map((moment) => {
      const value = summary.values[moment.value];
      const name = value.script ?? value.name;
      const here = moment.step === selection.step && moment.value === selection.value;
      return element(
        "li",
        { class: `${moment.wrong ? "wrong" : ""} ${here ? "here" : ""}`.trim() || null },
        button(`step ${grouped(moment.step)}`, () => go(moment), { class: "link", "aria-current": here ? "true" : null }),
        " ",
        element("code", {}, name),
        ` ${summary.operations[moment.operation]?.name ?? ""}: ${grouped(moment.different)} of ${grouped(moment.count)}, ${distance(moment)}`,
      );
    });
    const more = moments.length - rows.length;
    return element(
      "div",
      {},
      wrong.length > 0 && wrong.length < comparison.differences.length
        ? element(
            "label",
            { class: "field" },
            element("input", {
              type: "checkbox",
              checked: onlyWrong,
              onchange: (/** @type {Event} */ event) => {
                onlyWrong = /** @type {HTMLInputElement} */ (event.target).checked;
                redraw();
              },
            }),
            element("span", {}, `only what is wrong (${grouped(wrong.length)})`),
          )
        : null,
      element("ol", { class: "moments" }, ...rows),
      more > 0 ? element("p", { class: "quiet" }, `and ${counted(more, "moment")} more`) : null,
    );
  }

  function redraw() {
    const comparison = shown;
    if (comparison === null) {
      fill(content);
      return;
    }
    const { first, differences, arrays } = comparison;
    /** @type {Node[]} */
    const parts = [element("p", { class: "quiet" }, comparison.criterion)];
    if (first !== null) {
      const value = summary.values[first.value];
      parts.push(
        element(
          "p",
          { class: "note bad" },
          "First in the launch: ",
          button(`tile block ${blockName(first.block, summary.grid)}, step ${grouped(first.step)}`, () => jump(first), { class: "link" }),
          `, ${value.script ?? value.name}`,
        ),
      );
    } else if (differences.length > 0) {
      parts.push(element("p", { class: "note" }, "No value is wrong; those that differ are listed."));
    }
    for (const note of comparison.notes) parts.push(element("p", { class: "note" }, note));
    if (arrays.length > 0) {
      const lines = arrays.map((one) =>
        element("li", {}, element("code", {}, summary.arrays[one.array]?.name ?? "?"), `: ${grouped(one.different)} of ${grouped(one.count)}, first [${one.place.join(", ")}], ${distance(one)}`),
      );
      parts.push(element("h3", {}, "Arrays at the end"), element("ul", { class: "moments" }, ...lines));
    }
    const where = `tile block ${blockName(comparison.block, summary.grid)}`;
    parts.push(element("h3", {}, `${counted(comparison.total, "different moment")} in ${where}`));
    if (differences.length === 0) parts.push(empty("All values are the same."));
    else parts.push(chart(comparison, go), listing(comparison));
    fill(content, ...parts);
  }

  /** @param {{ block: number, step: number, value: number }} moment */
  function jump(moment) {
    const order = places();
    context.select({ place: order.get(moment.block) ?? 0, step: moment.step, value: moment.value });
  }

  /** @type {Map<number, number> | null} */
  let known = null;
  /** @type {() => Map<number, number>} */
  let places = () => (known ??= new Map());

  return {
    element: element("section", { class: "panel", "aria-label": "Comparison" }, element("h2", {}, "Compare"), field("with", select), content),
    /** @param {ArrayLike<number>} order */
    setOrder(order) {
      places = () => (known ??= new Map(Array.from(order, (block, place) => [block, place])));
    },
    /** @param {Comparison | null} comparison */
    set(comparison) {
      shown = comparison;
      select.value = comparison?.id ?? "";
      redraw();
    },
    waiting() {
      fill(content, empty("Comparing .."));
    },
  };
}

/**
 * How far off the values are, step by step, on a logarithmic scale.
 * @param {Comparison} comparison
 * @param {(moment: DifferentMoment) => void} go
 */
function chart(comparison, go) {
  const { differences } = comparison;
  const { width, height, left, bottom, top, right } = CHART;
  const size = (/** @type {DifferentMoment} */ one) => one.ulps ?? one.relative ?? one.largest;
  const numbers = differences.map(size).filter((number) => number !== null && number > 0).map(Number);
  const low = Math.floor(Math.log10(Math.min(1, ...numbers)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(1, ...numbers))));
  const last = differences[differences.length - 1].step;
  const begin = differences[0].step;
  const x = (/** @type {number} */ step) => left + ((step - begin) / Math.max(1, last - begin)) * (width - left - right);
  const y = (/** @type {number | null} */ number) =>
    number === null ? top : height - bottom - ((Math.log10(Math.max(number, 10 ** low)) - low) / (high - low)) * (height - bottom - top);
  const unit = differences.some((one) => one.ulps !== null) ? "ulps" : "difference";
  const drawn = svg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    class: "error-chart",
    role: "img",
    "aria-label": `How far off each moment is, in ${unit}, from step ${begin} to step ${last}`,
  });
  for (let power = low; power <= high; power += 1) {
    const at = y(10 ** power);
    drawn.append(svg("line", { x1: left, x2: width - right, y1: at, y2: at, class: "axis grid" }));
    if (high - low < 6 || (power - low) % 2 === 0) {
      drawn.append(svg("text", { x: left - 4, y: at + 4, class: "label", "text-anchor": "end" }, power >= 0 && power < 5 ? String(10 ** power) : `1e${power}`));
    }
  }
  drawn.append(
    svg("text", { x: left, y: height - 4, class: "label" }, `step ${begin}`),
    svg("text", { x: width - right, y: height - 4, class: "label", "text-anchor": "end" }, `${last}`),
    svg("text", { x: (left + width - right) / 2, y: height - 4, class: "label", "text-anchor": "middle" }, unit),
  );
  // As many points as can be told apart: of those that fall on one another the worst.
  /** @type {Map<number, DifferentMoment>} */
  const worst = new Map();
  for (const one of differences) {
    const column = Math.round(x(one.step));
    const before = worst.get(column);
    if (before === undefined || (size(one) ?? Infinity) > (size(before) ?? Infinity)) worst.set(column, one);
  }
  for (const one of worst.values()) {
    const dot = svg("circle", { cx: x(one.step), cy: y(size(one)), r: one.wrong ? 3 : 2, class: one.wrong ? "dot wrong" : "dot", onclick: () => go(one) });
    dot.append(svg("title", {}, `step ${one.step}: ${distance(one)}`));
    drawn.append(dot);
  }
  return drawn;
}
