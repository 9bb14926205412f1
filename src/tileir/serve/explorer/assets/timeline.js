// The moment: a slider through the tile blocks in the order in which they ran and one through the steps of the block,
// with what the step executed.  It stands above all views.

import { KINDS, loadAccesses } from "explorer/accesses.js";
import { unpack } from "explorer/data.js";
import { button, choice, element, fill } from "page/elements.js";
import { blockId, blockName, counted, grouped } from "explorer/words.js";

/** @typedef {import("./types").Context} Context */
/** @typedef {import("./types").Selection} Selection */
/** @typedef {import("./types").Steps} Steps */
/** @typedef {import("./types").View} View */
/** @typedef {import("./accesses.js").AccessTable} AccessTable */

/** Milliseconds between two moments while it plays. */
const TEMPO = 150;

/**
 * @param {Context} context
 * @returns {View}
 */
export function createTimeline(context) {
  return new Timeline(context);
}

/** @implements {View} */
class Timeline {
  /** @param {Context} context */
  constructor(context) {
    this.id = "timeline";
    this.title = "Moment";
    this.context = context;
    this.order = unpack(context.summary.recording.order);
    this.counts = unpack(context.summary.recording.steps);
    /** @type {{ block: number, operations: ArrayLike<number> } | null} */
    this._steps = null;
    /** @type {AccessTable | null} */
    this._table = null;
    /** @type {ReturnType<typeof setInterval> | null} */
    this._playing = null;
    this._unit = "step";
    const last = Math.max(0, this.order.length - 1);
    /** @param {Event} event */
    const value = (event) => Number(/** @type {HTMLInputElement} */ (event.target).value);
    this.blockSlider = element("input", {
      type: "range", min: 0, max: last, step: 1, "aria-label": "Tile block, in the order in which they ran",
      oninput: (/** @type {Event} */ event) => this._go(value(event), this._kept(value(event))),
    });
    this.stepSlider = element("input", {
      type: "range", min: 0, max: 0, step: 1, "aria-label": "Step of the tile block",
      oninput: (/** @type {Event} */ event) => this._go(this.context.selection.place, value(event)),
    });
    this.blockText = element("span", { class: "moment-text" });
    this.stepText = element("span", { class: "moment-text" });
    this.operationText = element("output", { class: "moment-operation", "aria-label": "The operation of this step" });
    this.jump = element("input", {
      type: "text", size: 9, "aria-label": "Go to the tile block with these coordinates, as 3,0,0", placeholder: "x,y,z",
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key === "Enter") this._jump();
      },
    });
    this.play = button("Play", () => this._toggle(), { "aria-pressed": "false", title: "Play or pause" });
    this.unit = choice(
      [
        { value: "step", title: "by steps" },
        { value: "access", title: "by accesses" },
        { value: "block", title: "by blocks" },
      ],
      this._unit,
      (unit) => (this._unit = unit),
      { "aria-label": "What playing goes by" },
    );
    this.element = this._layout();
    this._following = false;
    document.addEventListener("keydown", (event) => this._anywhere(event));
  }

  _layout() {
    const press = (/** @type {string} */ text, /** @type {string} */ name, /** @type {() => unknown} */ act) =>
      button(text, () => void act(), { "aria-label": name, title: name, class: "small" });
    return element(
      "div",
      {
        class: "timeline",
        role: "group",
        "aria-label": "Moment",
        onkeydown: (/** @type {KeyboardEvent} */ event) => this._key(event),
      },
      element(
        "div",
        { class: "timeline-row" },
        element("span", { class: "timeline-name" }, "Block"),
        press("\u25c2", "Previous tile block", () => this._blocks(-1)),
        this.blockSlider,
        press("\u25b8", "Next tile block", () => this._blocks(1)),
        this.blockText,
        this.jump,
      ),
      element(
        "div",
        { class: "timeline-row" },
        element("span", { class: "timeline-name" }, "Step"),
        press("\u25c2\u25c2", "Previous access to memory", () => this._access(-1)),
        press("\u25c2", "Step back", () => this._walk(-1)),
        this.stepSlider,
        press("\u25b8", "Step forward", () => this._walk(1)),
        press("\u25b8\u25b8", "Next access to memory", () => this._access(1)),
        this.stepText,
        this.play,
        this.unit,
      ),
      this.operationText,
    );
  }

  /**
   * The step to keep when the block changes: the same, so that blocks are compared at one operation.
   * @param {number} place
   */
  _kept(place) {
    return Math.min(this.context.selection.step, this.counts[place] ?? 0);
  }

  /**
   * @param {number} place
   * @param {number} step
   */
  _go(place, step) {
    if (this.order.length === 0) return;
    place = Math.max(0, Math.min(place, this.order.length - 1));
    step = Math.max(0, Math.min(step, this.counts[place]));
    const known = this._steps !== null && this._steps.block === this.order[place] ? this._steps.operations : null;
    // The operation follows the moment; where it is not known yet, `update` asks.
    this._following = known === null;
    this.context.select({ place, step, ...(known === null ? {} : { operation: step > 0 ? known[step - 1] : null }) });
  }

  /**
   * One step; from a block's last to the next block.
   * @param {-1 | 1} direction
   */
  _walk(direction) {
    const { place, step } = this.context.selection;
    const next = step + direction;
    if (next < 0) {
      if (place > 0) this._go(place - 1, this.counts[place - 1]);
      return place > 0;
    }
    if (next > this.counts[place]) {
      if (place + 1 < this.order.length) this._go(place + 1, 0);
      return place + 1 < this.order.length;
    }
    this._go(place, next);
    return true;
  }

  /** @param {number} by */
  _blocks(by) {
    const place = this.context.selection.place + by;
    if (place < 0 || place >= this.order.length) return false;
    this._go(place, this._kept(place));
    return true;
  }

  /** @param {-1 | 1} direction */
  async _access(direction) {
    this._table ??= await loadAccesses(this.context);
    const { place, step } = this.context.selection;
    const row = this._table.neighbour(place, step, direction);
    if (row < 0) {
      this.context.announce(direction > 0 ? "No access after this moment." : "No access before this moment.");
      return false;
    }
    const moment = this._table.momentOf(row);
    this._go(moment.place, moment.step);
    return true;
  }

  _jump() {
    const wanted = this.jump.value.split(/[^0-9]+/).filter((word) => word !== "").map(Number);
    const { grid } = this.context.summary;
    const [x = 0, y = 0, z = 0] = wanted;
    const place = x < grid[0] && y < grid[1] && z < grid[2] ? this.order.indexOf(x + grid[0] * (y + grid[1] * z)) : -1;
    if (wanted.length === 0 || wanted.length > 3 || place < 0) {
      this.jump.setAttribute("aria-invalid", "true");
      this.context.announce(`No tile block of the recording is at "${this.jump.value}"; the grid is ${grid.join(" x ")}.`);
      return;
    }
    this.jump.removeAttribute("aria-invalid");
    this._go(place, this._kept(place));
  }

  _toggle() {
    if (this._playing !== null) {
      clearInterval(this._playing);
      this._playing = null;
    } else {
      this._playing = setInterval(async () => {
        const moved =
          this._unit === "block" ? this._blocks(1) : this._unit === "access" ? await this._access(1) : this._walk(1);
        if (!moved && this._playing !== null) this._toggle();
      }, TEMPO);
    }
    fill(this.play, this._playing === null ? "Play" : "Pause");
    this.play.setAttribute("aria-pressed", String(this._playing !== null));
  }

  /**
   * Keys where the timeline has the focus.
   * @param {KeyboardEvent} event
   */
  _key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === this.jump || event.target === this.unit) return;
    const { place } = this.context.selection;
    const blocks = event.shiftKey || event.target === this.blockSlider;
    const direction = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (direction === 1 || direction === -1) blocks ? this._blocks(direction) : this._walk(direction);
    else if (event.key === "Home") this._go(blocks ? 0 : place, 0);
    else if (event.key === "End") blocks ? this._go(this.order.length - 1, Infinity) : this._go(place, this.counts[place]);
    else if (event.key === "PageDown") void this._access(1);
    else if (event.key === "PageUp") void this._access(-1);
    else if (event.key === " " && event.target instanceof HTMLInputElement) this._toggle();
    else return;
    event.preventDefault();
  }

  /**
   * Keys that work wherever nothing is written.
   * @param {KeyboardEvent} event
   */
  _anywhere(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const { target } = event;
    if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return;
    if (target instanceof HTMLInputElement && target.type !== "range" && target.type !== "checkbox") return;
    if (event.key === ",") this._walk(-1);
    else if (event.key === ".") this._walk(1);
    else if (event.key === "<") this._blocks(-1);
    else if (event.key === ">") this._blocks(1);
    else return;
    event.preventDefault();
  }

  /** @param {Selection} selection */
  async update({ place, step }) {
    const { summary } = this.context;
    if (this.order.length === 0) {
      fill(this.element, element("span", { class: "quiet" }, "No tile block was recorded."));
      return;
    }
    const block = this.order[place];
    const count = this.counts[place];
    const name = blockName(block, summary.grid);
    this.blockSlider.value = String(place);
    this.blockSlider.setAttribute("aria-valuetext", `tile block ${name}, ${place + 1} of ${this.order.length}`);
    fill(this.blockText, `${name}, ${grouped(place + 1)} of ${grouped(this.order.length)}`);
    if (document.activeElement !== this.jump) this.jump.value = blockId(block, summary.grid).join(",");
    this.stepSlider.max = String(count);
    this.stepSlider.value = String(step);
    fill(this.stepText, `${grouped(step)} of ${grouped(count)}`);
    if (this._steps === null || this._steps.block !== block) {
      // While a slider is dragged over many blocks, only those that it rests on are asked about.
      await new Promise((resolve) => setTimeout(resolve, 40));
      if (this.context.selection.place !== place) return;
      try {
        /** @type {Steps} */
        const steps = await this.context.ask("steps", { block });
        this._steps = { block, operations: unpack(steps.operation) };
      } catch (error) {
        fill(this.operationText, error instanceof Error ? error.message : String(error));
        return;
      }
    }
    if (this.context.selection.place !== place || this.context.selection.step !== step) return;
    const operation = step > 0 ? this._steps.operations[step - 1] : null;
    this._say(operation, count);
    if (this._following) {
      this._following = false;
      this.context.select({ operation });
    }
  }

  /**
   * @param {number | null} operation
   * @param {number} count
   */
  _say(operation, count) {
    const { summary, selection } = this.context;
    if (operation === null) {
      const words = `before the first of ${counted(count, "step")}`;
      this.stepSlider.setAttribute("aria-valuetext", words);
      fill(this.operationText, element("span", { class: "quiet" }, words));
      return;
    }
    const { name, text, script, reads, writes } = summary.operations[operation];
    const kind = reads && writes ? KINDS[2] : reads ? KINDS[0] : writes ? KINDS[1] : null;
    // Of a program that was read from text, its own line: the names in it are the author's.
    const own = script !== null && script.text.includes(name) && !script.file.endsWith(".py");
    const words = own ? script.text.trim() : text;
    this.stepSlider.setAttribute("aria-valuetext", `step ${selection.step} of ${count}: ${words}`);
    const place = script === null ? null : `${script.file.split(/[\\/]/).pop()}:${script.line}`;
    fill(
      this.operationText,
      kind === null ? null : element("span", { class: `chip kind-${kind}` }, kind),
      // The author's line first.  A program read from text is its own script: the same line need not stand there twice.
      script === null || script.text.includes(name)
        ? null
        : element("span", {}, `${place}: `, element("code", {}, script.text.trim())),
      element("code", { class: own || script === null ? null : "quiet" }, words),
      script !== null && script.text.includes(name) ? element("span", { class: "quiet" }, place) : null,
    );
  }
}
