// The view of memory: the arrays as grids, coloured by who touched them, and the accesses of what is pointed at.

import { KINDS, OUT_OF_BOUNDS, RESERVED, loadAccesses } from "explorer/accesses.js";
import { ArrayCard } from "explorer/arrays.js";
import { outsideSentence, outsideWords } from "explorer/bounds.js";
import { amountColour, amountLegend, blockLegend, thingLegend } from "explorer/drawing.js";
import { button, choice, element, empty, field, fill } from "page/elements.js";
import { markName } from "explorer/overlay.js";
import { pictureOf } from "explorer/vector.js";
import { NOTHING_RAN, blockName, counted, grouped } from "explorer/words.js";

/** @typedef {import("./types").Context} Context */
/** @typedef {import("./types").Finding} Finding */
/** @typedef {import("./types").Selection} Selection */
/** @typedef {import("./types").Tile} Tile */
/** @typedef {import("./types").View} View */
/** @typedef {import("./accesses.js").AccessTable} AccessTable */
/** @typedef {import("./arrays.js").Options} Options */
/** @typedef {import("./arrays.js").Race} Race */
/** @typedef {import("./plot.js").Area} Area */

/** @type {{ value: Options["colour"], title: string }[]} */
const COLOURS = [
  { value: "last block", title: "tile block, the last to touch" },
  { value: "first block", title: "tile block, the first to touch" },
  { value: "last time", title: "time of the last access" },
  { value: "first time", title: "time of the first access" },
  { value: "count", title: "number of accesses" },
];

/** Accesses in the list at once. */
const LISTED = 100;
/** Milliseconds that the pointer rests before a value is asked for. */
const REST = 120;

/**
 * @param {Context} context
 * @returns {View}
 */
export function createView(context) {
  return new Memory(context);
}

/** @implements {View} */
class Memory {
  /** @param {Context} context */
  constructor(context) {
    this.id = "memory";
    this.title = "Memory";
    this.context = context;
    /** @type {Options} */
    this.options = { colour: "last block", kinds: [true, true, true], whole: true, conflicts: true };
    /** Whether the user has said which accesses are shown; until then it is the whole launch until the moment moves. */
    this._chosen = false;
    /** @type {AccessTable | null} */
    this.table = null;
    /** @type {ArrayCard[]} */
    this.cards = [];
    /** @type {{ card: ArrayCard, area: Area } | null} */
    this.picked = null;
    this._shown = "";
    this._marked = "";
    this._moment = "";
    this._legend = "";
    this._planned = false;
    this._hovered = 0;
    this._listed = LISTED;
    this.extent = choice(
      [
        { value: "launch", title: "of the whole launch" },
        { value: "moment", title: "up to the moment" },
      ],
      "launch",
      (value) => {
        this._chosen = true;
        this._set({ whole: value === "launch" });
      },
      { "aria-label": "Accesses" },
    );
    this.legends = element("div", { class: "legends" });
    this.grid = element("div", { class: "array-cards" }, empty("Loading the accesses .."));
    this.notes = element("div");
    this.holder = element("div", { class: "array-area" }, this.grid, this.notes);
    this.panel = element("aside", { class: "panel element-panel", "aria-label": "The element that is chosen" });
    this.tooltip = element("div", { class: "tooltip", role: "tooltip", id: "memory-tooltip", hidden: true });
    this.element = element("div", { class: "memory filling" }, this._controls(), this.legends, this.holder, this.panel);
    new ResizeObserver(() => this.redraw()).observe(this.holder);
  }

  _controls() {
    const kinds = ["reads", "writes", "atomics"].map((name, kind) =>
      element(
        "label",
        {},
        element("input", {
          type: "checkbox",
          checked: true,
          onchange: (/** @type {Event} */ event) => {
            const { checked } = /** @type {HTMLInputElement} */ (event.target);
            this._set({ kinds: this.options.kinds.map((one, at) => (at === kind ? checked : one)) });
          },
        }),
        ` ${name}`,
      ),
    );
    return element(
      "div",
      { class: "toolbar", role: "group", "aria-label": "What is shown" },
      field(
        "Colour by",
        choice(COLOURS, this.options.colour, (value) => this._set({ colour: /** @type {Options["colour"]} */ (value) }), {
          "aria-label": "Colour by",
        }),
      ),
      field("Accesses", this.extent),
      element("fieldset", {}, element("legend", { class: "unseen" }, "Kinds of access"), ...kinds),
      element(
        "label",
        {},
        element("input", {
          type: "checkbox",
          checked: true,
          onchange: (/** @type {Event} */ event) =>
            this._set({ conflicts: /** @type {HTMLInputElement} */ (event.target).checked }),
        }),
        " conflicts",
      ),
    );
  }

  /** @param {Partial<Options>} change */
  _set(change) {
    this.options = { ...this.options, ...change };
    this.redraw();
  }

  /** @param {Selection} selection */
  async update(selection) {
    if (this.context.summary.recording.order.shape[0] === 0) {
      fill(this.element, empty(NOTHING_RAN));
      return;
    }
    if (this.table === null) {
      const table = await loadAccesses(this.context);
      this.cards = this.context.summary.arrays.map((array) => new ArrayCard(this.context, array, table, {
        redraw: () => this.redraw(),
        picked: (card, area) => this._pick(card, area),
        pointed: (card, area, point) => this._point(card, area, point),
      }));
      this.table = table;
      void this._findRaces(table);
      void this._search();
      selection = this.context.selection;
    }
    const { opening } = this.context;
    const moved = selection.place !== opening.place || selection.step !== opening.step;
    if (!this._chosen && this.options.whole && moved) {
      this.options.whole = false;
      this.extent.value = "moment";
    }
    const moment = `${selection.place} ${selection.step}`;
    if (moment !== this._moment) {
      this._moment = moment;
      for (const card of this.cards) card.follow(selection);
    }
    const marked = selection.marked.join();
    if (marked !== this._marked) {
      this._marked = marked;
      for (const row of selection.marked) this._cardOf(row)?.reveal(row);
    }
    this._draw(selection);
    await this._describe(selection);
  }

  /** One array after the other: the search takes memory of its own. */
  async _search() {
    for (const card of this.cards) await card.search();
  }

  /** @param {number} row */
  _cardOf(row) {
    return this.cards.find((card) => card.array.id === this.table?.array[row]);
  }

  /** Draws soon, once for all that asks until then. */
  redraw() {
    if (this._planned || this.table === null) return;
    this._planned = true;
    requestAnimationFrame(() => {
      this._planned = false;
      if (this.element.offsetParent !== null) this._draw(this.context.selection);
    });
  }

  /** @param {Selection} selection */
  _draw(selection) {
    if (this.table === null) return;
    const shown = this.cards.filter((card) => selection.array === null || card.array.id === selection.array);
    const width = this.holder.clientWidth;
    const layout = `${shown.map((card) => card.array.id).join()} ${width} ${this.holder.clientHeight}`;
    if (layout !== this._shown) {
      this._shown = layout;
      this.grid.classList.toggle("one", shown.length === 1);
      fill(this.grid, ...shown.map((card) => card.element), shown.length ? null : empty("The kernel has no arrays."));
      this._sayNotes(this.table);
      const highest = shown.length === 1 ? Math.max(260, this.holder.clientHeight - 110) : 320;
      for (const card of shown) card.resize(card.element.clientWidth - 26, highest);
    }
    for (const card of shown) card.draw(selection, this.options);
    this._sayLegends(shown);
  }

  /** @param {AccessTable} table */
  _sayNotes(table) {
    const reserved = table.rowsOfArray(RESERVED).length;
    const lost = table.rowsOutside(-1);
    fill(
      this.notes,
      lost.length === 0 ? null : element("p", { class: "note bad" }, outsideSentence(lost, table, undefined)),
      reserved === 0
        ? null
        : element("p", { class: "note" }, `${counted(reserved, "access", "accesses")} to memory that tile blocks reserve (alloca).`),
      ...this.context.summary.recording.notes.map((note) => element("p", { class: "note" }, note)),
    );
  }

  /** @param {ArrayCard[]} shown */
  _sayLegends(shown) {
    const { colour, whole } = this.options;
    const facts = shown.map((card) => [card.legendMost, card.conflicts?.elements, card.races.length]);
    const here = this.table?.order[this.context.selection.place];
    const key = JSON.stringify([colour, whole, facts, here]);
    if (key === this._legend) return;
    this._legend = key;
    const things = [
      { colour: "var(--read)", name: "this block reads", mark: " " },
      { colour: "var(--write)", name: "writes", mark: " " },
      ...(this.table?.kind.includes(2) ? [{ colour: "var(--atomic)", name: "updates atomically", mark: " " }] : []),
      { colour: "var(--text)", name: "padding: tile beyond the array", hatched: true },
    ];
    if (shown.some((card) => card.conflicts !== null && card.conflicts.elements > 0)) {
      things.push({ colour: "var(--bad)", name: "shared by several blocks, one writing (whole launch)", mark: "\u00d7" });
    }
    if (this.table?.array.some((array) => array <= OUT_OF_BOUNDS)) {
      things.push({ colour: "var(--bad)", name: "out of bounds: listed below its array", mark: "!" });
    }
    if (shown.some((card) => card.races.length > 0)) things.push({ colour: "var(--bad)", name: "race", mark: "!" });
    const most = shown.length === 1 ? shown[0].legendMost : "the most of each array";
    fill(
      this.legends,
      ...(colour === "count"
        ? [amountLegend(amountColour, "0", most, "accesses to an element")]
        : colour.endsWith("time")
          ? [amountLegend(amountColour, "first", `last of ${grouped(this.table?.count ?? 0)} accesses`, "time")]
          : blockLegend(this.context.summary.grid, here)),
      thingLegend(things),
    );
  }

  // ---- Races ----

  /** @param {AccessTable} table */
  async _findRaces(table) {
    /** @type {{ findings: Finding[] }} */
    const { findings } = this.context.summary.findings === 0 ? { findings: [] } : await this.context.ask("findings");
    for (const { place, other, title, kind } of findings) {
      if (other === null || place.access === null) continue;
      const rows = other.access === null ? [place.access] : [place.access, other.access];
      this.cards.find((card) => card.array.id === table.array[rows[0]])?.addRace(rows, title, kind);
    }
    this.redraw();
    await this._describe(this.context.selection);
  }

  // ---- The element that is pointed at, and the one that is chosen ----

  /**
   * @param {ArrayCard} card
   * @param {Area | null} area
   * @param {{ x: number, y: number }} point
   */
  _point(card, area, point) {
    const ticket = ++this._hovered;
    const name = area === null ? null : card.nameOf(area);
    if (area === null || name === null) {
      this.tooltip.hidden = true;
      return;
    }
    const rows = card.touching(area);
    const title = element("strong", {}, name);
    const words = [this._touches(rows)];
    if (card.hasConflict(area)) words.push("Several tile blocks touch it, one of them writing.");
    fill(this.tooltip, title, ...words.map((text) => element("div", {}, text)));
    const { canvas } = card.plot;
    card.element.appendChild(this.tooltip);
    this.tooltip.hidden = false;
    const left = canvas.offsetLeft + Math.min(point.x + 14, Math.max(0, card.plot.width - 220));
    this.tooltip.style.setProperty("left", `${left}px`);
    this.tooltip.style.setProperty("top", `${canvas.offsetTop + point.y + 16}px`);
    // Keys move the cursor: what the tooltip shows is said.
    if (document.activeElement === canvas && card.plot.cursor === area) this.context.announce([name, ...words].join(": "));
    setTimeout(async () => {
      if (ticket !== this._hovered) return;
      const value = await this._valueOf(card, area);
      if (ticket === this._hovered && value !== null) title.append(" = ", element("code", {}, value));
    }, REST);
  }

  /** @param {number[]} rows */
  _touches(rows) {
    if (this.table === null || rows.length === 0) return "never touched";
    const { kind, block } = this.table;
    const counts = KINDS.map((name, one) => ({ name, count: rows.filter((row) => kind[row] === one).length }));
    const blocks = new Set(rows.map((row) => block[row])).size;
    const words = counts.filter(({ count }) => count > 0).map(({ name, count }) => counted(count, name));
    const only = `tile block ${blockName(block[rows[0]], this.context.summary.grid)}`;
    return `${words.join(", ")} by ${blocks === 1 ? only : counted(blocks, "tile block")}`;
  }

  /**
   * The value of an element at the moment, or null.
   * @param {ArrayCard} card
   * @param {Area} area
   */
  async _valueOf(card, area) {
    const index = card.elementAt(area);
    const { place, step } = this.context.selection;
    const block = this.table?.order[place];
    if (index === null || block === undefined) return null;
    try {
      /** @type {Tile} */
      const tile = await this.context.ask("array", {
        array: card.array.id, block, step, start: index.join(), extents: index.map(() => 1).join(),
      });
      return tile.text === null ? null : tile.text[0];
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /**
   * @param {ArrayCard} card
   * @param {Area} area
   */
  _pick(card, area) {
    for (const one of this.cards) if (one !== card) one.plot.cursor = null;
    this.picked = { card, area };
    this._listed = LISTED;
    this.redraw();
    void this._describe(this.context.selection);
  }

  /** @param {Selection} selection */
  async _describe(selection) {
    const races = this._raceList();
    if (this.picked === null) {
      const marked = selection.marked.length > 0;
      fill(
        this.panel,
        marked ? element("h2", {}, "Marked") : null,
        marked ? this._list(selection.marked, selection, "Marked accesses") : null,
        element("h2", {}, "Element"),
        element(
          "p",
          { class: "quiet" },
          "Click an element, or move to it with the arrow keys and press Enter, to see its value and who touches it.",
        ),
        races,
      );
      return;
    }
    const { card, area } = this.picked;
    const rows = card.touching(area);
    const value = element("p", { class: "quiet" });
    fill(
      this.panel,
      element("h2", {}, card.nameOf(area) ?? card.array.name),
      value,
      card.hasConflict(area) ? element("p", { class: "note bad" }, "Several tile blocks touch it, one of them writing.") : null,
      element("p", {}, this._touches(rows)),
      this._list(rows, selection),
      rows.length <= this._listed
        ? null
        : button(`Show more of ${grouped(rows.length)}`, () => {
            this._listed += LISTED;
            void this._describe(this.context.selection);
          }),
      races,
    );
    const { place, step } = selection;
    const text = await this._valueOf(card, area);
    if (this.context.selection.place !== place || this.context.selection.step !== step) return;
    if (text === null) fill(value, "A bin of elements: zoom in for values.");
    else fill(value, "Value at this moment: ", element("code", {}, text));
  }

  /**
   * @param {number[]} rows
   * @param {Selection} selection
   * @param {string} [label]
   */
  _list(rows, selection, label = "Accesses to it") {
    const { table } = this;
    if (table === null) return null;
    const happened = table.upTo(selection.place, selection.step);
    const list = element("ol", { class: "touch-list", "aria-label": label });
    for (const row of rows.slice(0, this._listed)) {
      const { place, step, operation } = table.momentOf(row);
      const kind = KINDS[table.kind[row]];
      const { name, text, script } = this.context.summary.operations[operation];
      // The author's words, of an operation without the names of its results.
      const words = script?.text ?? text;
      const short = words.slice(Math.max(0, words.indexOf(name)));
      const mark = selection.marked.indexOf(row);
      const outside = outsideWords(row, table, this.context.summary);
      const now = place === selection.place && step === selection.step;
      const line = button("", () => this.context.select({ place, step, operation }), {
        class: row >= happened ? "later" : null, "aria-current": now ? "true" : null, title: text, "data-row": row,
      });
      list.append(element("li", {}, line));
      line.append(
        mark < 0 ? "" : element("strong", {}, `${markName(mark)} `),
        element("span", { class: `chip kind-${kind}` }, kind),
        `block ${blockName(table.block[row], this.context.summary.grid)}, step ${grouped(step)}`,
        element("code", {}, short),
        outside === null ? "" : element("span", { class: "outside" }, `out of bounds: ${outside}`),
      );
    }
    return list;
  }

  _raceList() {
    const races = this.cards.flatMap((card) => card.races);
    if (races.length === 0) return null;
    return element(
      "section",
      { "aria-label": "Races" },
      element("h3", {}, "Races"),
      element(
        "ul",
        { class: "touch-list" },
        ...races.slice(0, LISTED).map((race) => {
          const line = button("", () => this._showRace(race), { title: race.title });
          line.append(element("span", { class: "chip bad" }, race.kind), race.name, element("span", {}, race.title));
          return element("li", {}, line);
        }),
      ),
      races.length > LISTED ? element("p", { class: "quiet" }, `and ${grouped(races.length - LISTED)} more`) : null,
    );
  }

  /**
   * The two accesses, at the moment of the later one.
   * @param {Race} race
   */
  _showRace(race) {
    if (this.table === null) return;
    const later = Math.max(...race.rows);
    const { place, step, operation } = this.table.momentOf(later);
    this.context.select({ marked: race.rows, place, step, operation });
  }

  /** The arrays that are shown, beside each other. */
  picture() {
    const { array } = this.context.selection;
    const shown = this.cards.filter((card) => array === null || card.array.id === array);
    return shown.length === 0 ? null : pictureOf(shown, this.options, this.context.summary.kernel);
  }
}
