// Values: any tile, and any array, at the selected step, as numbers and as a picture, and beside another run.

import { drawHistogram } from "explorer/charts.js";
import { createDifferences } from "explorer/differences.js";
import { createHeatMap } from "explorer/heat_map.js";
import { NOTHING_RAN, extents as extentText, indexText, precise } from "explorer/text.js";
import { createTileTable } from "explorer/tile_table.js";
import { inParts, nextSpecial } from "explorer/tiles.js";
import { createValueList } from "explorer/value_list.js";
import { button, element, empty, field, fill, messageOf, pairs } from "page/elements.js";
import { grouped } from "page/numbers.js";

/** @type {{ side: Side, title: string }[]} */
const SIDES = [
  { side: "left", title: "This run" },
  { side: "right", title: "The other" },
  { side: "difference", title: "Difference" },
];

/** @param {Context} context @returns {View} */
export function createView(context) {
  const { summary, order } = context;
  /** @type {string | null} */
  let comparing = null;
  /** @type {Side} */
  let side = "left";
  /** The index that is active, and the one shown of dimensions before the last two. @type {number[]} */
  let cursor = [];
  /** @type {TileSource | null} */
  let source = null;
  let shownKey = "";

  const list = createValueList(context);
  const differences = createDifferences(context, (id) => {
    comparing = id;
    side = "left";
    void refresh();
  });
  const title = element("h2");
  const about = element("p.quiet.about");
  const slices = element("div.toolbar.slices");
  const cellText = element("output.cell.mono");
  const next = button("Next NaN or infinity", () => void toNextSpecial(), { disabled: true });
  const sides = element("div.toolbar.sides", { role: "group", "aria-label": "Which side the table shows", hidden: true });
  const table = createTileTable(point);
  const maps = SIDES.map(({ side: of, title: name }) => ({
    side: of,
    map: createHeatMap({
      title: name,
      chosen: (index) => {
        table.show(index);
        point(index, table.textAt(index) ?? "");
      },
      report: (error) => fill(about, messageOf(error)),
    }),
  }));
  const zoomed = (/** @type {number} */ factor) => () => maps.forEach(({ map }) => map.zoom(factor));
  const zoom = element(
    "span.toolbar",
    { role: "group", "aria-label": "Part of the picture" },
    button("+", zoomed(2), { "aria-label": "Closer", title: "Closer, around the active element" }),
    button("-", zoomed(0.5), { "aria-label": "Farther", title: "Farther" }),
    button("Whole", () => maps.forEach(({ map }) => map.whole()), { title: "The whole tile" }),
  );
  const pictures = element("div.heat-maps", ...maps.map(({ map }) => map.element));
  const spread = element("div.column.spread");
  const tile = element(
    "section.column.tile-shown",
    { "aria-label": "Tile" },
    title,
    about,
    slices,
    element("div.toolbar.looks", pictures, spread),
    element("div.toolbar", zoom, sides, next, cellText),
    table.element,
  );
  const nothing = empty("Nothing is computed yet at this step: go a step forward, or choose an array.");
  const root = element(
    "div.values-view.filling",
    list.element,
    element("div.scrolled", nothing, tile),
    element("div.scrolled.values-side", { hidden: summary.comparisons.length === 0 }, differences.element),
  );

  /** @param {number[]} index @param {string} text */
  function point(index, text) {
    cursor = index;
    for (const { map } of maps) map.point(index);
    fill(cellText, index.length === 0 ? text : `${indexText(index)} ${text}`);
  }

  async function toNextSpecial() {
    const found = source === null ? null : await nextSpecial(source, cursor);
    if (found === null) return;
    cursor = found;
    await refresh();
    table.show(found);
    const text = table.textAt(found) ?? "";
    point(found, text);
    context.announce(`Element ${indexText(found)}: ${text}`);
    table.element.focus();
  }

  /**
   * What is to be shown: an array, or a value of the tile program.
   * @param {ViewState} state @param {Values} known @param {Variables | null} script
   */
  function chosen(state, known, script) {
    const block = order[state.place];
    if (state.value === null && state.array !== null) {
      const { id, name, element: kind, shape } = summary.arrays[state.array];
      const part = inParts((asked) => context.ask("array", { array: id, block, step: state.step, ...asked }));
      const text = `array of ${extentText(shape)} ${kind}, as it is at this step`;
      return { title: name, about: text, value: null, step: state.step, source: { name, element: kind, shape, part } };
    }
    const entry = list.chosen(state, known.values);
    if (entry === null) return null;
    const { step } = entry;
    const { id, name: own, script: written, type, element: kind, shape, operation } = summary.values[entry.value];
    if (kind === null || shape === null) return null;
    const info = operation === null ? null : summary.operations[operation];
    // What the script calls it now, or else what the statement that computed it does.
    const bound = script?.functions.flatMap((one) => one.variables).find((one) => one.value === id && one.step === step);
    const name = bound?.name ?? written;
    const line = info === null ? "" : `: ${info.script?.text ?? info.text}`;
    const part = inParts((asked) => context.ask("tile", { block, step, value: id, ...asked }));
    return {
      title: name === null ? own : `${name} (${own})`,
      about: `${type}, ${step === 0 ? "given" : `computed in step ${step}`}${line}`,
      value: id,
      step,
      source: { name: name ?? own, element: kind, shape, part },
    };
  }

  /** One side of a comparison. @param {Side} of @param {TileSource} first @param {Compared} compared @param {QuestionParameters} parameters */
  function sideOf(of, first, compared, parameters) {
    const name = of === "left" ? first.name : `${first.name}, ${of === "right" ? "the other run" : "difference"}`;
    const part = inParts(async (asked) => /** @type {Compared} */ (await context.ask("compared", { ...parameters, ...asked }))[of]);
    return { name, element: compared[of].element, shape: first.shape, part };
  }

  // Updates run one after another: each waits for answers, and the next one may find what it shows changed.
  let updates = Promise.resolve();
  function refresh() {
    // One that failed has been reported; it must not keep the next from being shown.
    updates = updates.catch(() => undefined).then(() => update(context.state));
    return updates;
  }

  /** @param {ViewState} state */
  async function update(state) {
    if (order.length === 0) {
      fill(root, empty(NOTHING_RAN));
      return;
    }
    const at = { block: order[state.place], step: state.step };
    const known = /** @type {Values} */ (await context.ask("values", at));
    // Before the first step there are parameters only, mostly addresses and extents: an array says more.
    const isBegin = state.value === null && known.values.every((entry) => entry.step === 0);
    if (isBegin && summary.arrays.length > 0) state = { ...state, array: state.array ?? summary.arrays[0].id };
    const script = summary.script ? /** @type {Variables} */ (await context.ask("variables", at)) : null;
    list.set(state, known.values, script);
    const found = chosen(state, known, script);
    nothing.hidden = found !== null;
    tile.hidden = found === null;
    // What is chosen while this waits for answers belongs to the next update.
    const other = comparing;
    await compare(at.block, other);
    cursor = found === null ? cursor : found.source.shape.map((extent, axis) => Math.min(cursor[axis] ?? 0, extent - 1));
    const key = [at.block, found?.value, state.array, found?.step, other, side, cursor.slice(0, -2)].join();
    if (found !== null && key === shownKey) for (const { map } of maps) map.redraw();
    else if (found !== null) await show(found, at.block, other, side);
    shownKey = found === null ? "" : key;
  }

  /** @param {number} block @param {string | null} other */
  async function compare(block, other) {
    if (other === null) {
      differences.set(null);
      return;
    }
    const waiting = setTimeout(() => differences.waiting(), 150);
    try {
      differences.set(/** @type {Comparison} */ (await context.ask("comparison", { id: other, block })));
    } finally {
      clearTimeout(waiting);
    }
  }

  /** @param {NonNullable<ReturnType<typeof chosen>>} found @param {number} block @param {string | null} other @param {Side} wanted */
  async function show(found, block, other, wanted) {
    const left = found.source;
    const leading = cursor.slice(0, Math.max(0, left.shape.length - 2));
    table.busy();
    fill(title, found.title);
    fill(about, found.about);
    /** @type {Compared | null} */
    let compared = null;
    const parameters = { id: other ?? "", block, step: found.step, value: found.value ?? 0 };
    if (other !== null && found.value !== null) {
      try {
        compared = await context.ask("compared", parameters);
      } catch (error) {
        fill(about, `${found.about}. Not compared: ${messageOf(error)}.`);
      }
    }
    const sourceOf = (/** @type {Side} */ of) => (compared === null ? left : sideOf(of, left, compared, parameters));
    const shown = sourceOf(wanted);
    source = shown;
    const whole = await shown.part();
    fillSides(compared !== null, wanted);
    fillSlices(left.shape);
    for (const { side: of, map } of maps) {
      const isUsed = of === "left" || compared !== null;
      map.element.hidden = !isUsed;
      // Both runs have the same colors, the difference its own.
      const statistics = compared === null ? whole.statistics : compared[of === "difference" ? of : "left"].statistics;
      await map.set(isUsed ? sourceOf(of) : null, statistics, leading, cursor);
    }
    pictures.classList.toggle("three", compared !== null);
    fill(spread, statisticsList(whole.statistics), drawHistogram(whole.statistics, found.title));
    next.disabled = whole.statistics.nan + whole.statistics.infinite === 0;
    table.set(shown, whole, leading, cursor);
    fill(cellText, cursor.length === 0 ? "" : `${indexText(cursor)} ${table.textAt(cursor) ?? ""}`);
  }

  /** @param {boolean} isCompared @param {Side} wanted */
  function fillSides(isCompared, wanted) {
    sides.hidden = !isCompared;
    const buttons = SIDES.map((one) => {
      const choose = () => {
        side = one.side;
        void refresh();
      };
      return button(one.title, choose, { "aria-pressed": String(wanted === one.side) });
    });
    fill(sides, ...buttons);
  }

  /** A field for each outer dimension. @param {readonly number[]} shape */
  function fillSlices(shape) {
    const fields = shape.slice(0, Math.max(0, shape.length - 2)).map((extent, axis) => {
      const input = element("input", {
        type: "number", min: 0, max: extent - 1, value: cursor[axis],
        onchange: () => {
          cursor = cursor.with(axis, Math.max(0, Math.min(extent - 1, Math.round(Number(input.value) || 0))));
          void refresh();
        },
      });
      return field(`dimension ${axis} (0 .. ${extent - 1})`, input);
    });
    fill(slices, ...fields);
  }

  function picture() {
    const shown = maps.find((one) => one.side === side && !one.map.element.hidden) ?? maps[0];
    return tile.hidden ? null : shown.map.picture();
  }

  return { id: "values", title: "Values", element: root, update: refresh, picture };
}

/** @param {Statistics} statistics */
function statisticsList({ count, nan, infinite, least, most, mean, deviation }) {
  const text = (/** @type {number | null} */ number) => (number === null ? "none" : precise(number));
  const warned = (/** @type {number} */ number, /** @type {string} */ name) =>
    number > 0 ? element(`span.chip.${name}`, grouped(number)) : grouped(number);
  const made = pairs([
    ["elements", grouped(count)],
    ["least", text(least)],
    ["most", text(most)],
    ["mean", text(mean)],
    ["deviation", text(deviation)],
    ["NaN", warned(nan, "bad")],
    ["infinite", warned(infinite, "warning")],
  ]);
  made.classList.add("statistics");
  return made;
}
