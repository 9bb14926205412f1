// Where two runs differ: the steps of a tile block, the first of the launch, and arrays at its end.

import { blockName, indexText, precise } from "explorer/text.js";
import { button, checkbox, choice, element, empty, field, fill, notes, panel, svg } from "page/elements.js";
import { counted, grouped } from "page/numbers.js";

/** So many steps are listed at once. */
const LISTED = 200;
const CHART = { width: 360, height: 90, left: 40, right: 354, floor: 72, top: 6 };

/** How far apart, in words. @param {Difference} difference */
function distance({ largest, ulps, relative }) {
  if (largest === null) return "NaN or infinity against a number";
  const last = ulps === null ? "" : `${precise(ulps, 4)} ulps, `;
  return `${last}${precise(largest, 3)} at most${relative === null ? "" : `, relative ${precise(relative, 2)}`}`;
}

/** @param {Context} context @param {(id: string | null) => void} chosen */
export function createDifferences(context, chosen) {
  const { summary } = context;
  const options = summary.comparisons.map(({ id, title, reason }) => {
    return { value: id, title: reason === null ? title : `${title} (${reason})`, disabled: reason !== null };
  });
  const choose = (/** @type {string} */ id) => chosen(id === "" ? null : id);
  const select = choice([{ value: "", title: "nothing" }, ...options], "", choose, { "aria-label": "Compare with" });
  const content = element("div.differences", { "aria-live": "polite" });
  let onlyWrong = true;
  /** @type {Comparison | null} */
  let shown = null;

  /** @param {DifferentMoment} moment */
  function go({ step, operation, value }) {
    context.select({ step, operation, value });
  }

  /** @param {number} value */
  function nameOf(value) {
    return summary.values[value].script ?? summary.values[value].name;
  }

  /** @param {Comparison} comparison */
  function listing({ differences }) {
    const wrong = differences.filter((one) => one.wrong);
    const moments = onlyWrong && wrong.length > 0 ? wrong : differences;
    const rows = moments.slice(0, LISTED).map((moment) => {
      const { step, value, operation, different, count } = moment;
      const isHere = step === context.state.step && value === context.state.value;
      const text = `: ${grouped(different)} of ${grouped(count)}, ${distance(moment)}`;
      return element(
        "li",
        { class: `${moment.wrong ? "wrong" : ""} ${isHere ? "here" : ""}`.trim() || null },
        button(`step ${grouped(step)}`, () => go(moment), { class: "link", "aria-current": isHere ? "true" : null }),
        " ",
        element("code", nameOf(value)),
        ` ${summary.operations[operation]?.name ?? ""}${text}`,
      );
    });
    const left = moments.length - rows.length;
    const filter = checkbox(`only what is wrong (${grouped(wrong.length)})`, onlyWrong, (checked) => {
      onlyWrong = checked;
      redraw();
    });
    return [
      wrong.length > 0 && wrong.length < differences.length ? filter : null,
      element("ol.plain.moments", ...rows),
      left > 0 ? element("p.quiet", `and ${counted(left, "moment")} more`) : null,
    ];
  }

  /** @param {NonNullable<Comparison["first"]>} first */
  function firstNote({ block, step, value }) {
    const jump = () => context.select({ place: Math.max(0, context.order.indexOf(block)), step, value });
    const link = button(`tile block ${blockName(block, summary.grid)}, step ${grouped(step)}`, jump, { class: "link" });
    return element("p.note.bad", "First in the launch: ", link, `, ${nameOf(value)}`);
  }

  function redraw() {
    if (shown === null) {
      fill(content);
      return;
    }
    const { criterion, first, differences, arrays, total, block } = shown;
    const lines = arrays.map((one) => {
      const text = `: ${grouped(one.different)} of ${grouped(one.count)}, first ${indexText(one.place)}, ${distance(one)}`;
      return element("li", element("code", summary.arrays[one.array]?.name ?? "?"), text);
    });
    fill(
      content,
      element("p.quiet", criterion),
      first === null ? null : firstNote(first),
      ...notes(first === null && differences.length > 0 ? ["No value is wrong; those that differ are listed."] : []),
      ...notes(shown.notes),
      ...(lines.length === 0 ? [] : [element("h3", "Arrays at the end"), element("ul.plain.moments", ...lines)]),
      element("h3", `${counted(total, "different moment")} in tile block ${blockName(block, summary.grid)}`),
      ...(differences.length === 0 ? [empty("All values are the same.")] : [chart(differences, go), ...listing(shown)]),
    );
  }

  return {
    element: panel("Compare", field("with", select), content),
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
 * @param {DifferentMoment[]} differences @param {(moment: DifferentMoment) => void} go
 */
function chart(differences, go) {
  const { width, height, left, right, floor, top } = CHART;
  const size = (/** @type {DifferentMoment} */ one) => one.ulps ?? one.relative ?? one.largest;
  const sizes = differences.map((one) => size(one) ?? 0).filter((number) => number > 0);
  const low = Math.floor(Math.log10(Math.min(1, ...sizes)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(1, ...sizes))));
  const [begin, last] = [differences[0].step, differences[differences.length - 1].step];
  const x = (/** @type {number} */ step) => left + ((step - begin) / Math.max(1, last - begin)) * (right - left);
  const y = (/** @type {number | null} */ number) =>
    number === null ? top : floor - ((Math.log10(Math.max(number, 10 ** low)) - low) / (high - low)) * (floor - top);
  const unit = differences.some((one) => one.ulps !== null) ? "ulps" : "difference";
  const label = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ text, anchor = "start") =>
    svg("text.label", { x, y, "text-anchor": anchor }, text);
  const powers = Array.from({ length: high - low + 1 }, (_, index) => low + index).flatMap((power) => {
    const at = y(10 ** power);
    const line = svg("line.axis.grid", { x1: left, x2: right, y1: at, y2: at });
    const isLabeled = high - low < 6 || (power - low) % 2 === 0;
    const text = power >= 0 && power < 5 ? String(10 ** power) : `1e${power}`;
    return isLabeled ? [line, label(left - 4, at + 4, text, "end")] : [line];
  });
  // As many points as can be told apart: of those that fall on one another the worst.
  /** @type {Map<number, DifferentMoment>} */
  const worst = new Map();
  for (const one of differences) {
    const column = Math.round(x(one.step));
    const before = worst.get(column);
    if (before === undefined || (size(one) ?? Infinity) > (size(before) ?? Infinity)) worst.set(column, one);
  }
  const dots = Array.from(worst.values(), (one) => {
    const place = { cx: x(one.step), cy: y(size(one)), r: one.wrong ? 3 : 2, onclick: () => go(one) };
    return svg(one.wrong ? "circle.dot.wrong" : "circle.dot", place, svg("title", `step ${one.step}: ${distance(one)}`));
  });
  const text = `How far off each moment is, in ${unit}, from step ${begin} to step ${last}`;
  return svg(
    "svg.error-chart",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": text },
    ...powers,
    label(left, height - 4, `step ${begin}`),
    label(right, height - 4, String(last), "end"),
    label((left + right) / 2, height - 4, unit, "middle"),
    ...dots,
  );
}
