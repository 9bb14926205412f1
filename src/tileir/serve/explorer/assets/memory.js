// The view of memory: the arrays as grids, colored by who touched them, and the accesses to the chosen element.

import { KINDS, OUT_OF_BOUNDS, RESERVED, distanceOutside, kindChip, loadAccesses, outsideText } from "explorer/accesses.js";
import { ArrayCard } from "explorer/array_card.js";
import { markName } from "explorer/overlay.js";
import { amountColor, amountLegend, blockLegend, thingLegend } from "explorer/palette.js";
import { NOTHING_RAN, blockName, extents } from "explorer/text.js";
import { button, checkbox, choice, element, empty, field, fill, messageOf, notes } from "page/elements.js";
import { counted, grouped, short } from "page/numbers.js";
import { oncePerFrame } from "page/page.js";
import { styleColor, svgOf } from "page/shapes.js";

const COLORS = [
  { value: "last block", title: "tile block, the last to touch" },
  { value: "first block", title: "tile block, the first to touch" },
  { value: "last time", title: "time of the last access" },
  { value: "first time", title: "time of the first access" },
  { value: "count", title: "number of accesses" },
];
const EXTENTS = [{ value: "launch", title: "of the whole launch" }, { value: "moment", title: "up to this step" }];
const SHARED = "Several tile blocks touch it, one of them writing.";
/** Accesses in the list at once. */
const LISTED = 100;
/** Milliseconds that the pointer rests before a value is asked for. */
const REST = 120;

/** @param {Context} context @returns {View} */
export function createView(context) {
  const { summary } = context;
  /** @type {MemoryOptions} */
  let options = { color: "last block", kinds: [true, true, true], whole: true, conflicts: true };
  /** Whether the user has said which accesses are shown; until then it is the whole launch until the step changes. */
  let isExtentChosen = false;
  /** @type {AccessTable | null} */
  let table = null;
  /** @type {ArrayCard[]} */
  let cards = [];
  /** @type {{ card: ArrayCard, area: Area } | null} */
  let picked = null;
  let [layout, marked, moment, legend] = ["", "", "", ""];
  let hovered = 0;
  let listed = LISTED;

  const extent = choice(
    EXTENTS,
    "launch",
    (value) => {
      isExtentChosen = true;
      setOptions({ whole: value === "launch" });
    },
    { "aria-label": "Accesses" },
  );
  const legends = element("div.toolbar.legends");
  const grid = element("div.array-cards", empty("Loading the accesses .."));
  const remarks = element("div");
  const holder = element("div.scrolled", grid, remarks);
  const panel = element("aside.panel.scrolled.element-panel", { "aria-label": "The element that is chosen" });
  const tooltip = element("div.tooltip", { role: "tooltip", id: "memory-tooltip", hidden: true });
  const root = element("div.memory.filling", controls(), legends, holder, panel);
  const redraw = oncePerFrame(() => {
    if (table !== null && root.offsetParent !== null) draw(context.state);
  });
  new ResizeObserver(redraw).observe(holder);

  function controls() {
    const kinds = ["reads", "writes", "atomics"].map((name, kind) =>
      checkbox(name, true, (checked) => setOptions({ kinds: options.kinds.map((one, at) => (at === kind ? checked : one)) })),
    );
    const setColor = (/** @type {string} */ color) => setOptions({ color: /** @type {MemoryOptions["color"]} */ (color) });
    return element(
      "div.toolbar",
      { role: "group", "aria-label": "What is shown" },
      field("Color by", choice(COLORS, options.color, setColor, { "aria-label": "Color by" })),
      field("Accesses", extent),
      element("fieldset", element("legend.unseen", "Kinds of access"), ...kinds),
      checkbox("conflicts", true, (conflicts) => setOptions({ conflicts })),
    );
  }

  /** @param {Partial<MemoryOptions>} change */
  function setOptions(change) {
    options = { ...options, ...change };
    redraw();
  }

  /** @param {ViewState} state */
  async function update(state) {
    if (context.order.length === 0) {
      fill(root, empty(NOTHING_RAN));
      return;
    }
    if (table === null) {
      table = await loadAccesses(context);
      const listener = { redraw, picked: pick, pointed: point };
      cards = summary.arrays.map((array) => new ArrayCard(context, array, /** @type {AccessTable} */ (table), listener));
      void findRaces(table);
      for (const card of cards) void card.findConflicts();
      state = context.state;
    }
    const { opening } = context;
    const isMoved = state.place !== opening.place || state.step !== opening.step;
    if (!isExtentChosen && options.whole && isMoved) {
      options.whole = false;
      extent.value = "moment";
    }
    if (moment !== `${state.place} ${state.step}`) {
      moment = `${state.place} ${state.step}`;
      for (const card of cards) card.follow(state);
    }
    if (marked !== state.marked.join()) {
      marked = state.marked.join();
      for (const row of state.marked) cards.find((card) => card.array.id === table?.array[row])?.reveal(row);
    }
    draw(state);
    await describe(state);
  }

  /** @param {ViewState} state */
  function shownCards({ array }) {
    return cards.filter((card) => array === null || card.array.id === array);
  }

  /** @param {ViewState} state */
  function draw(state) {
    const shown = shownCards(state);
    const key = [...shown.map((card) => card.array.id), holder.clientWidth, holder.clientHeight].join();
    if (layout !== key) {
      layout = key;
      grid.classList.toggle("one", shown.length === 1);
      fill(grid, ...shown.map((card) => card.element), shown.length ? null : empty("The kernel has no arrays."));
      fillRemarks();
      const highest = shown.length === 1 ? Math.max(260, holder.clientHeight - 110) : 320;
      for (const card of shown) card.plot.resize(card.element.clientWidth - 26, highest);
    }
    for (const card of shown) card.draw(state, options);
    fillLegends(shown);
  }

  function fillRemarks() {
    if (table === null) return;
    const reserved = table.rowsOfArray(RESERVED).length;
    const lost = table.rowsOutside(-1);
    const own = `${counted(reserved, "access", "accesses")} to memory that tile blocks reserve (alloca).`;
    fill(
      remarks,
      lost.length === 0 ? null : element("p.note.bad", outsideText(lost, table, undefined)),
      ...notes([...(reserved === 0 ? [] : [own]), ...summary.recording.notes]),
    );
  }

  /** @param {ArrayCard[]} shown */
  function fillLegends(shown) {
    const here = context.order[context.state.place];
    const facts = shown.map((card) => [card.most, card.conflicts?.elements, card.races.length]);
    const key = JSON.stringify([options, facts, here]);
    if (key === legend || table === null) return;
    legend = key;
    /** @type {Parameters<typeof thingLegend>[0]} */
    const things = [
      { color: "var(--read)", name: "this block reads", mark: " " },
      { color: "var(--write)", name: "writes", mark: " " },
      ...(table.kind.includes(2) ? [{ color: "var(--atomic)", name: "updates atomically", mark: " " }] : []),
      { color: "var(--text)", name: "padding: tile beyond the array", hatched: true },
    ];
    const add = (/** @type {boolean} */ isThere, /** @type {string} */ name, /** @type {string} */ mark) => {
      if (isThere) things.push({ color: "var(--bad)", name, mark });
    };
    const isShared = shown.some((card) => (card.conflicts?.elements ?? 0) > 0);
    add(isShared, "shared by several blocks, one writing (whole launch)", "\u00d7");
    add(table.array.some((array) => array <= OUT_OF_BOUNDS), "out of bounds: listed below its array", "!");
    add(shown.some((card) => card.races.length > 0), "race", "!");
    const most = shown.length === 1 ? short(shown[0].most) : "the most of each array";
    const last = `last of ${grouped(table.count)} accesses`;
    const scales =
      options.color === "count"
        ? [amountLegend(amountColor, "0", most, "accesses to an element")]
        : options.color.endsWith("time")
          ? [amountLegend(amountColor, "first", last, "time")]
          : blockLegend(summary.grid, here);
    fill(legends, ...scales, thingLegend(things));
  }

  /** @param {AccessTable} accesses */
  async function findRaces(accesses) {
    const { findings } = summary.findings === 0 ? { findings: [] } : /** @type {Findings} */ (await context.ask("findings"));
    for (const { place, other, title, kind } of findings) {
      if (other === null || place.access === null) continue;
      const rows = other.access === null ? [place.access] : [place.access, other.access];
      cards.find((card) => card.array.id === accesses.array[rows[0]])?.addRace(rows, title, kind);
    }
    redraw();
    await describe(context.state);
  }

  // ---- The element that is pointed at, and the one that is chosen ----

  /** @param {ArrayCard} card @param {Area | null} area @param {{ x: number, y: number }} where */
  function point(card, area, where) {
    const ticket = ++hovered;
    const name = area === null ? null : card.nameOf(area);
    tooltip.hidden = area === null || name === null;
    if (area === null || name === null) return;
    const title = element("strong", name);
    const lines = [touchesOf(card.touching(area)), ...(card.hasConflict(area) ? [SHARED] : [])];
    fill(tooltip, title, ...lines.map((text) => element("div", text)));
    const { canvas, width, cursor } = card.plot;
    card.element.appendChild(tooltip);
    tooltip.style.left = `${canvas.offsetLeft + Math.min(where.x + 14, Math.max(0, width - 220))}px`;
    tooltip.style.top = `${canvas.offsetTop + where.y + 16}px`;
    // Keys move the cursor: what the tooltip shows is announced.
    if (document.activeElement === canvas && cursor === area) context.announce([name, ...lines].join(": "));
    setTimeout(async () => {
      if (ticket !== hovered) return;
      const value = await valueOf(card, area);
      if (ticket === hovered && value !== null) title.append(" = ", element("code", value));
    }, REST);
  }

  /** @param {number[]} rows */
  function touchesOf(rows) {
    if (table === null || rows.length === 0) return "never touched";
    const blocks = new Set(rows.map((row) => table?.block[row])).size;
    const only = `tile block ${blockName(table.block[rows[0]], summary.grid)}`;
    return `${table.kindsOf(rows)} by ${blocks === 1 ? only : counted(blocks, "tile block")}`;
  }

  /** The value of an element at the step, or null. @param {ArrayCard} card @param {Area} area */
  async function valueOf(card, area) {
    const index = card.elementAt(area);
    const { place, step } = context.state;
    if (index === null) return null;
    const part = { start: index.join(), extents: index.map(() => 1).join() };
    try {
      const asked = { array: card.array.id, block: context.order[place], step, ...part };
      const tile = /** @type {Tile} */ (await context.ask("array", asked));
      return tile.text === null ? null : tile.text[0];
    } catch (error) {
      return messageOf(error);
    }
  }

  /** @param {ArrayCard} card @param {Area} area */
  function pick(card, area) {
    for (const one of cards) if (one !== card) one.plot.cursor = null;
    picked = { card, area };
    listed = LISTED;
    redraw();
    void describe(context.state);
  }

  /** @param {ViewState} state */
  async function describe(state) {
    if (picked === null) {
      const help = "Click an element, or move to it with the arrow keys and press Enter, to see its value and who touches it.";
      const isMarked = state.marked.length > 0;
      const list = isMarked ? [element("h2", "Marked"), accessList(state.marked, state, "Marked accesses")] : [];
      fill(panel, ...list, element("h2", "Element"), element("p.quiet", help), raceList());
      return;
    }
    const { card, area } = picked;
    const rows = card.touching(area);
    const value = element("p.quiet");
    const more = button(`Show more of ${grouped(rows.length)}`, () => {
      listed += LISTED;
      void describe(context.state);
    });
    fill(
      panel,
      element("h2", card.nameOf(area) ?? card.array.name),
      value,
      card.hasConflict(area) ? element("p.note.bad", SHARED) : null,
      element("p", touchesOf(rows)),
      accessList(rows, state, "Accesses to it"),
      rows.length <= listed ? null : more,
      raceList(),
    );
    const text = await valueOf(card, area);
    if (context.state.place !== state.place || context.state.step !== state.step) return;
    if (text === null) fill(value, "A bin of elements: zoom in for values.");
    else fill(value, "Value at this step: ", element("code", text));
  }

  /** @param {number[]} rows @param {ViewState} state @param {string} label */
  function accessList(rows, state, label) {
    if (table === null) return null;
    const accesses = table;
    const happened = accesses.upTo(state.place, state.step);
    const items = rows.slice(0, listed).map((row) => {
      const at = accesses.momentOf(row);
      const { name, text, script } = summary.operations[at.operation];
      // The author's line, without the names of the results.
      const line = script?.text ?? text;
      const mark = state.marked.indexOf(row);
      const missed = accesses.missedArray(row);
      const isNow = at.place === state.place && at.step === state.step;
      const attributes = { "aria-current": isNow ? "true" : null, title: text, "data-row": row };
      const made = button("", () => context.select(at), { ...attributes, class: row >= happened ? "later" : null });
      const outside = missed === null ? "" : distanceOutside([row], accesses, summary.arrays[missed]);
      made.append(
        mark < 0 ? "" : element("strong", `${markName(mark)} `),
        kindChip(KINDS[accesses.kind[row]]),
        `block ${blockName(accesses.block[row], summary.grid)}, step ${grouped(at.step)}`,
        element("code", line.slice(Math.max(0, line.indexOf(name)))),
        missed === null ? "" : element("span.outside", `out of bounds: ${outside}`),
      );
      return element("li", made);
    });
    return element("ol.plain.touch-list", { "aria-label": label }, ...items);
  }

  function raceList() {
    const races = cards.flatMap((card) => card.races);
    if (races.length === 0) return null;
    const items = races.slice(0, LISTED).map((race) => {
      // Both accesses, at the step of the later one.
      const show = () => table !== null && context.select({ marked: race.rows, ...table.momentOf(Math.max(...race.rows)) });
      const made = button("", show, { title: race.title });
      made.append(element("span.chip.bad", race.kind), race.name, element("span", race.title));
      return element("li", made);
    });
    const left = races.length - items.length;
    const more = left > 0 ? element("p.quiet", `and ${grouped(left)} more`) : null;
    return element("section", { "aria-label": "Races" }, element("h3", "Races"), element("ul.plain.touch-list", ...items), more);
  }

  /** The arrays that are shown, below each other. */
  function picture() {
    const shown = shownCards(context.state).filter((card) => card.scene !== null);
    if (shown.length === 0) return null;
    const width = Math.max(...shown.map(({ plot }) => plot.width));
    const label = `${summary.kernel}: ${shown.map((card) => card.array.name).join(", ")} by ${options.color}`;
    let height = 0;
    const pictures = shown.map(({ array, plot, scene }) => {
      const text = `${array.name} (${array.element}, ${extents(array.shape)})`;
      const heading = { text, x: 0, y: -6, size: 13, bold: true, fill: styleColor("--text") };
      const parts = [heading, ...plot.shapes(/** @type {Scene} */ (scene))];
      const top = height + 22;
      height = top + plot.height + 18;
      return { y: top, parts };
    });
    return svgOf(label, width, height, pictures);
  }

  return { id: "memory", title: "Memory", element: root, update, picture };
}
