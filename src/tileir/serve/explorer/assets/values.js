// Values: any tile, and any array, at the moment that is looked at, as numbers and as a picture, and beside another run.

import { part, unpack } from "explorer/data.js";
import { createDifferences } from "explorer/differences.js";
import { button, element, empty, field, fill } from "page/elements.js";
import { createHeatMap } from "explorer/heat_map.js";
import { createHistogram, createStatistics } from "explorer/histogram.js";
import { indexWords, nextSpecial } from "explorer/tile_parts.js";
import { createTileTable } from "explorer/tile_table.js";
import { createValueList } from "explorer/value_list.js";
import { NOTHING_RAN, extents as extentWords } from "explorer/words.js";

/**
 * @typedef {import("./types").Comparison} Comparison
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Selection} Selection
 * @typedef {import("./types").Tile} Tile
 * @typedef {import("./types").Values} Values
 * @typedef {import("./types").Variables} Variables
 * @typedef {import("./types").View} View
 * @typedef {import("explorer/tile_parts.js").TileSource} TileSource
 * @typedef {"left" | "right" | "difference"} Side
 */

/** @type {{ side: Side, title: string }[]} */
const SIDES = [
  { side: "left", title: "This run" },
  { side: "right", title: "The other" },
  { side: "difference", title: "Difference" },
];

/**
 * @param {Context} context
 * @returns {View}
 */
export function createView(context) {
  const { summary } = context;
  const order = unpack(summary.recording.order);
  /** @type {string | null} */
  let comparing = null;
  /** @type {Side} */
  let side = "left";
  /**
   * The index that is active, and the one shown of dimensions before the last two.
   * @type {number[]}
   */
  let cursor = [];
  /** @type {TileSource | null} */
  let source = null;
  /** @type {TileSource | null} */
  let left = null;
  let shownKey = "";

  const list = createValueList(context);
  const differences = createDifferences(context, (id) => {
    comparing = id;
    side = "left";
    void refresh();
  });
  differences.setOrder(order);
  const title = element("h2", {});
  const about = element("p", { class: "quiet about" });
  const slices = element("div", { class: "toolbar slices" });
  const cellWords = element("output", { class: "cell mono" });
  const next = button("Next NaN or infinity", () => void toNextSpecial(), { disabled: true });
  const sides = element("div", { class: "toolbar sides", role: "group", "aria-label": "Which side the table shows", hidden: true });
  const table = createTileTable({
    moved(index, text) {
      point(index, text);
    },
  });
  const report = (/** @type {unknown} */ error) => {
    fill(about, error instanceof Error ? error.message : String(error));
  };
  const pictures = SIDES.map(({ side: of, title: name }) => ({
    side: of,
    map: createHeatMap({
      title: name,
      chosen: (index) => {
        table.show(index);
        point(index, table.textAt(index) ?? "");
      },
      report,
    }),
  }));
  const zoom = element(
    "span",
    { class: "toolbar", role: "group", "aria-label": "Part of the picture" },
    button("+", () => pictures.forEach(({ map }) => map.closer(0.5)), { "aria-label": "Closer", title: "Closer, around the active element" }),
    button("-", () => pictures.forEach(({ map }) => map.closer(2)), { "aria-label": "Farther", title: "Farther" }),
    button("Whole", () => pictures.forEach(({ map }) => void map.whole()), { title: "The whole tile" }),
  );
  const maps = element("div", { class: "heat-maps" }, ...pictures.map(({ map }) => map.element));
  const spread = element("div", { class: "spread" });
  const tile = element(
    "section",
    { class: "tile-shown", "aria-label": "Tile" },
    title,
    about,
    slices,
    element("div", { class: "looks" }, maps, spread),
    element("div", { class: "toolbar" }, zoom, sides, next, cellWords),
    table.element,
  );
  const nothing = empty("Nothing is computed yet at this moment: go a step forward, or choose an array.");
  const main = element("div", { class: "values-main" }, nothing, tile);
  const root = element(
    "div",
    { class: "values-view filling" },
    list.element,
    main,
    element("div", { class: "values-side" }, differences.element),
  );
  if (summary.comparisons.length === 0) root.classList.add("alone");

  /**
   * @param {number[]} index
   * @param {string} text
   */
  function point(index, text) {
    cursor = index;
    for (const { map } of pictures) map.point(index);
    fill(cellWords, source === null || source.shape.length === 0 ? text : `${indexWords(index)} ${text}`);
  }

  async function toNextSpecial() {
    if (source === null) return;
    const found = await nextSpecial(source, cursor);
    if (found === null) return;
    cursor = found;
    await refresh();
    table.show(found);
    const text = table.textAt(found) ?? "";
    point(found, text);
    context.announce(`Element ${indexWords(found)}: ${text}`);
    table.element.focus();
  }

  /**
   * @param {Selection} selection
   * @param {Values} known
   * @param {Variables | null} script
   * @returns {{ name: string, about: string, source: TileSource, value: number | null, step: number } | null}
   */
  function chosen(selection, known, script) {
    const block = order[selection.place];
    if (selection.value === null && selection.array !== null) {
      const array = summary.arrays[selection.array];
      return {
        name: array.name,
        about: `array of ${extentWords(array.shape)} ${array.element}, as it is at this moment`,
        value: null,
        step: selection.step,
        source: {
          name: array.name,
          element: array.element,
          shape: array.shape,
          part: inParts((asked) => context.ask("array", { array: array.id, block, step: selection.step, ...asked })),
        },
      };
    }
    const entry = list.chosen(selection, known);
    if (entry === null) return null;
    const value = summary.values[entry.value];
    const { element: kind, shape } = value;
    if (kind === null || shape === null) return null;
    const operation = value.operation === null ? null : summary.operations[value.operation];
    // What the script calls it now, or else what the statement that computed it does.
    const bound = script?.functions.flatMap((one) => one.variables).find((one) => one.value === value.id && one.step === entry.step);
    const name = bound?.name ?? value.script;
    const words = operation === null ? "" : (operation.script?.text ?? operation.text);
    return {
      name: name === null ? value.name : `${name} (${value.name})`,
      about: `${value.type}, ${entry.step === 0 ? "given" : `computed in step ${entry.step}`}${words === "" ? "" : `: ${words}`}`,
      value: value.id,
      step: entry.step,
      source: {
        name: name ?? value.name,
        element: kind,
        shape,
        part: inParts((asked) => context.ask("tile", { block, step: entry.step, value: value.id, ...asked })),
      },
    };
  }

  /**
   * One side of a comparison.
   * @param {Side} of
   * @param {TileSource} first
   * @param {Tile} answer
   * @param {Record<string, string | number>} parameters
   * @returns {TileSource}
   */
  function sideOf(of, first, answer, parameters) {
    return {
      name: of === "left" ? first.name : `${first.name}, ${of === "right" ? "the other run" : "difference"}`,
      element: answer.element,
      shape: first.shape,
      part: inParts(async (asked) => {
        /** @type {Record<Side, Tile>} */
        const all = await context.ask("compared", { ...parameters, ...asked });
        return all[of];
      }),
    };
  }

  // Updates run one after another: each waits for answers, and the next one may find what it shows changed.
  let updates = Promise.resolve();
  function refresh() {
    // One that failed has told so; it must not keep the next from being shown.
    updates = updates.catch(() => undefined).then(() => update(context.selection));
    return updates;
  }

  /** @param {Selection} selection */
  async function update(selection) {
    if (order.length === 0) {
      fill(root, empty(NOTHING_RAN));
      return;
    }
    const block = order[selection.place];
    /** @type {Values} */
    const known = await context.ask("values", { block, step: selection.step });
    // Before the first step there are parameters only, mostly addresses and extents: an array says more.
    const isBegin = selection.value === null && known.values.every((entry) => entry.step === 0);
    if (isBegin && summary.arrays.length > 0) selection = { ...selection, array: selection.array ?? summary.arrays[0].id };
    /** @type {Variables | null} */
    const script = summary.script ? await context.ask("variables", { block, step: selection.step }) : null;
    list.set(selection, known, script);
    const found = chosen(selection, known, script);
    nothing.hidden = found !== null;
    tile.hidden = found === null;
    // What is chosen while this waits for answers belongs to the next update.
    const other = comparing;
    await compare(block, other);
    if (found === null) {
      shownKey = "";
      return;
    }
    cursor = found.source.shape.map((extent, axis) => Math.min(cursor[axis] ?? 0, extent - 1));
    const key = [block, found.value, selection.array, found.step, other, side, cursor.slice(0, -2)].join();
    if (key === shownKey) {
      for (const { map } of pictures) map.redraw();
      return;
    }
    await show(found, block, other, side);
    shownKey = key;
  }

  /**
   * @param {number} block
   * @param {string | null} other
   */
  async function compare(block, other) {
    if (other === null) {
      differences.set(null);
      return;
    }
    const waiting = setTimeout(() => differences.waiting(), 150);
    try {
      /** @type {Comparison} */
      const comparison = await context.ask("comparison", { id: other, block });
      differences.set(comparison);
    } finally {
      clearTimeout(waiting);
    }
  }

  /**
   * @param {NonNullable<ReturnType<typeof chosen>>} found
   * @param {number} block
   * @param {string | null} other
   * @param {Side} wanted
   */
  async function show(found, block, other, wanted) {
    left = found.source;
    const rank = left.shape.length;
    const leading = cursor.slice(0, Math.max(0, rank - 2));
    table.busy();
    fill(title, found.name);
    fill(about, found.about);
    /** @type {Record<Side, Tile> | null} */
    let compared = null;
    const parameters = { id: other ?? "", block, step: found.step, value: found.value ?? 0 };
    if (other !== null && found.value !== null) {
      try {
        compared = await context.ask("compared", parameters);
      } catch (error) {
        fill(about, `${found.about}. Not compared: ${error instanceof Error ? error.message : String(error)}.`);
      }
    }
    source = compared === null ? left : sideOf(wanted, left, compared[wanted], parameters);
    const whole = await source.part();
    drawSides(compared !== null, wanted);
    drawSlices(left.shape);
    for (const { side: of, map } of pictures) {
      const used = of === "left" || compared !== null;
      map.element.hidden = !used;
      const shown = !used ? null : compared === null ? left : sideOf(of, left, compared[of], parameters);
      const statistics = !used ? null : compared === null ? whole.statistics : statisticsOf(of, compared);
      await map.set(shown, statistics, leading, cursor);
    }
    maps.classList.toggle("three", compared !== null);
    fill(spread, createStatistics(whole.statistics), createHistogram(whole.statistics, found.name));
    next.disabled = whole.statistics.nan + whole.statistics.infinite === 0;
    table.set(source, whole, leading, cursor);
    fill(cellWords, rank === 0 ? "" : `${indexWords(cursor)} ${table.textAt(cursor) ?? ""}`);
  }

  /**
   * @param {boolean} compared
   * @param {Side} wanted
   */
  function drawSides(compared, wanted) {
    sides.hidden = !compared;
    if (!compared) return;
    fill(
      sides,
      ...SIDES.map((one) =>
        button(
          one.title,
          () => {
            side = one.side;
            void refresh();
          },
          { "aria-pressed": String(wanted === one.side) },
        ),
      ),
    );
  }

  /** @param {readonly number[]} shape */
  function drawSlices(shape) {
    const rank = shape.length;
    fill(
      slices,
      ...shape.slice(0, Math.max(0, rank - 2)).map((extent, axis) =>
        field(
          `dimension ${axis} (0 .. ${extent - 1})`,
          element("input", {
            type: "number",
            min: 0,
            max: extent - 1,
            value: cursor[axis],
            onchange: (/** @type {Event} */ event) => {
              const wanted = Math.round(Number(/** @type {HTMLInputElement} */ (event.target).value) || 0);
              cursor[axis] = Math.max(0, Math.min(extent - 1, wanted));
              void refresh();
            },
          }),
        ),
      ),
    );
  }

  return {
    id: "values",
    title: "Values",
    element: root,
    update: refresh,
    picture() {
      return tile.hidden ? null : (pictures.find((one) => one.side === side && !one.map.element.hidden) ?? pictures[0]).map.picture();
    },
  };
}

/**
 * Both runs have the same colours, the difference its own.
 * @param {Side} of
 * @param {Record<Side, Tile>} compared
 */
function statisticsOf(of, compared) {
  return of === "difference" ? compared.difference.statistics : compared.left.statistics;
}

/**
 * What gives parts of a tile: they are asked for only where not every element is here.
 * @param {(parameters: Record<string, string>) => Promise<Tile>} ask
 * @returns {TileSource["part"]}
 */
function inParts(ask) {
  return async (start, extents) => {
    const whole = await ask({});
    if (start === undefined || extents === undefined || start.length === 0) return whole;
    const wanted = { start: start.join(","), extents: extents.join(",") };
    return whole.binned === null ? (part(whole, wanted) ?? whole) : ask(wanted);
  };
}
