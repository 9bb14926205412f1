// Where two runs differ: the steps of a tile block, the first of the launch, and arrays at its end.

import { blockName, indexText, precise } from "explorer/text.js";
import { button, checkbox, choice, element, empty, field, fill, notes, panel } from "page/elements.js";
import { counted, grouped } from "page/numbers.js";

/** So many steps are listed at once. */
const LISTED = 200;

/** How far apart, in words. @param {Difference} difference */
function distance({ largest, ulps, relative }) {
  if (largest === null) return "a NaN or an infinity in one run";
  const last = ulps === null ? "" : `${precise(ulps, 4)} ulps, `;
  return `${last}at most ${precise(largest, 3)}${relative === null ? "" : `, relative ${precise(relative, 2)}`}`;
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
        button(`step ${grouped(step)}`, () => context.select({ step, operation, value }), { class: "link", "aria-current": isHere ? "true" : null }),
        " ",
        element("code", nameOf(value)),
        ` ${summary.operations[operation]?.name ?? ""}${text}`,
      );
    });
    const left = moments.length - rows.length;
    const filter = checkbox(`only wrong values (${grouped(wrong.length)})`, onlyWrong, (checked) => {
      onlyWrong = checked;
      redraw();
    });
    return [
      wrong.length > 0 && wrong.length < differences.length ? filter : null,
      element("ol.plain.moments", ...rows),
      left > 0 ? element("p.quiet", `and ${counted(left, "value")} more`) : null,
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
      const text = `: ${grouped(one.different)} of ${grouped(one.count)}, first at ${indexText(one.index)}, ${distance(one)}`;
      return element("li", element("code", summary.arrays[one.array]?.name ?? "?"), text);
    });
    fill(
      content,
      element("p.quiet", criterion),
      first === null ? null : firstNote(first),
      ...notes(first === null && differences.length > 0 ? ["No value is wrong; those that differ are listed."] : []),
      ...notes(shown.notes),
      ...(lines.length === 0 ? [] : [element("h3", "Arrays at the end"), element("ul.plain.moments", ...lines)]),
      element("h3", `${counted(total, "different value")} in tile block ${blockName(block, summary.grid)}`),
      ...(differences.length === 0 ? [empty("All values are the same.")] : listing(shown)),
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
