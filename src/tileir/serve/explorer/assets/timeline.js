// A slider through the tile blocks in the order in which they ran and one through the steps of the block, with the
// operation of the step.  It stands above all views.

import { loadAccesses, operationParts } from "explorer/accesses.js";
import { blockId, blockName } from "explorer/text.js";
import { button, choice, element, fill, hasModifier, isTyping, messageOf } from "page/elements.js";
import { counted, grouped } from "page/numbers.js";

/** Milliseconds between two steps while it plays. */
const TEMPO = 150;
const UNITS = [
  { value: "step", title: "by steps" },
  { value: "access", title: "by accesses" },
  { value: "block", title: "by blocks" },
];

/** @param {Context} context @returns {View} */
export function createTimeline(context) {
  const { summary, order, steps } = context;
  /** @type {{ place: number, operations: ArrayLike<number> } | null} */
  let known = null;
  /** @type {ReturnType<typeof setInterval> | null} */
  let playing = null;
  /** Whether the operation of the state is yet to follow the step. */
  let following = false;

  const blockSlider = slider("Tile block, in the order in which they ran", (place) => go(place, keptStep(place)));
  const stepSlider = slider("Step of the tile block", (step) => go(context.state.place, step));
  blockSlider.max = String(Math.max(0, order.length - 1));
  const blockText = element("span.moment-text");
  const stepText = element("span.moment-text");
  const operationText = element("output.moment-operation", { "aria-label": "The operation of this step" });
  const jump = element("input", {
    type: "text", size: 9, placeholder: "x,y,z", "aria-label": "Go to the tile block with these coordinates, as 3,0,0",
    onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && jumpTo(),
  });
  const play = button("Play", () => togglePlay(), { "aria-pressed": "false", title: "Play or pause" });
  const unit = choice(UNITS, "step", () => {}, { "aria-label": "What playing goes by" });
  const root = element(
    "div.timeline",
    { role: "group", "aria-label": "Tile block and step", onkeydown: pressed },
    element(
      "div.toolbar.timeline-row",
      element("span.timeline-name.quiet", "Block"),
      arrow("\u25c2", "Previous tile block", () => moveBlock(-1)),
      blockSlider,
      arrow("\u25b8", "Next tile block", () => moveBlock(1)),
      blockText,
      jump,
    ),
    element(
      "div.toolbar.timeline-row",
      element("span.timeline-name.quiet", "Step"),
      arrow("\u25c2\u25c2", "Previous access to memory", () => moveAccess(-1)),
      arrow("\u25c2", "Step back", () => moveStep(-1)),
      stepSlider,
      arrow("\u25b8", "Step forward", () => moveStep(1)),
      arrow("\u25b8\u25b8", "Next access to memory", () => moveAccess(1)),
      stepText,
      play,
      unit,
    ),
    operationText,
  );
  document.addEventListener("keydown", pressedAnywhere);

  /** @param {string} name @param {(value: number) => void} moved */
  function slider(name, moved) {
    const made = element("input", { type: "range", min: 0, max: 0, "aria-label": name, oninput: () => moved(Number(made.value)) });
    return made;
  }

  /** @param {string} text @param {string} name @param {() => unknown} act */
  function arrow(text, name, act) {
    return button(text, () => void act(), { "aria-label": name, title: name, class: "small" });
  }

  /** The same step of another block, so that blocks are compared at one operation. @param {number} place */
  function keptStep(place) {
    return Math.min(context.state.step, steps[place] ?? 0);
  }

  /** @param {number} place @param {number} step */
  function go(place, step) {
    if (order.length === 0) return;
    place = Math.max(0, Math.min(place, order.length - 1));
    step = Math.max(0, Math.min(step, steps[place]));
    // The operation follows the step; where it is not known yet, `update` asks.
    following = known?.place !== place;
    const operation = step > 0 ? known?.operations[step - 1] : null;
    context.select(following ? { place, step } : { place, step, operation });
  }

  /** One step; from a block's last to the next block. @param {-1 | 1} direction */
  function moveStep(direction) {
    const { place, step } = context.state;
    const next = step + direction;
    if (next >= 0 && next <= steps[place]) go(place, next);
    else if (order[place + direction] === undefined) return false;
    else go(place + direction, direction > 0 ? 0 : Infinity);
    return true;
  }

  /** @param {number} by */
  function moveBlock(by) {
    const place = context.state.place + by;
    if (order[place] === undefined) return false;
    go(place, keptStep(place));
    return true;
  }

  /** @param {-1 | 1} direction */
  async function moveAccess(direction) {
    const accesses = await loadAccesses(context);
    const row = accesses.neighbor(context.state.place, context.state.step, direction);
    if (row < 0) {
      context.announce(direction > 0 ? "No access after this step." : "No access before this step.");
      return false;
    }
    const { place, step } = accesses.momentOf(row);
    go(place, step);
    return true;
  }

  function jumpTo() {
    const { grid } = summary;
    const numbers = jump.value.split(/[^0-9]+/).filter((word) => word !== "").map(Number);
    const [x = 0, y = 0, z = 0] = numbers;
    const place = x < grid[0] && y < grid[1] && z < grid[2] ? order.indexOf(x + grid[0] * (y + grid[1] * z)) : -1;
    const isKnown = numbers.length > 0 && numbers.length <= 3 && place >= 0;
    jump.setAttribute("aria-invalid", String(!isKnown));
    if (isKnown) go(place, keptStep(place));
    else context.announce(`No tile block of the recording is at "${jump.value}"; the grid is ${grid.join(" x ")}.`);
  }

  function togglePlay() {
    if (playing === null) playing = setInterval(playOn, TEMPO);
    else {
      clearInterval(playing);
      playing = null;
    }
    fill(play, playing === null ? "Play" : "Pause");
    play.setAttribute("aria-pressed", String(playing !== null));
  }

  async function playOn() {
    const moved = unit.value === "block" ? moveBlock(1) : unit.value === "access" ? await moveAccess(1) : moveStep(1);
    if (!moved && playing !== null) togglePlay();
  }

  /** Keys where the timeline has the focus. @param {KeyboardEvent} event */
  function pressed(event) {
    if (hasModifier(event) || event.target === jump || event.target === unit) return;
    const { place } = context.state;
    const isBlock = event.shiftKey || event.target === blockSlider;
    const direction = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (direction === 1 || direction === -1) isBlock ? moveBlock(direction) : moveStep(direction);
    else if (event.key === "Home") go(isBlock ? 0 : place, 0);
    else if (event.key === "End") go(isBlock ? order.length - 1 : place, Infinity);
    else if (event.key === "PageDown") void moveAccess(1);
    else if (event.key === "PageUp") void moveAccess(-1);
    else if (event.key === " " && event.target instanceof HTMLInputElement) togglePlay();
    else return;
    event.preventDefault();
  }

  /** Keys that work wherever nothing is typed. @param {KeyboardEvent} event */
  function pressedAnywhere(event) {
    if (hasModifier(event) || event.defaultPrevented || isTyping(event.target)) return;
    if (event.key === ",") moveStep(-1);
    else if (event.key === ".") moveStep(1);
    else if (event.key === "<") moveBlock(-1);
    else if (event.key === ">") moveBlock(1);
    else return;
    event.preventDefault();
  }

  /** @param {ViewState} state */
  async function update({ place, step }) {
    if (order.length === 0) {
      fill(root, element("span.quiet", "No tile block was recorded."));
      return;
    }
    const name = blockName(order[place], summary.grid);
    blockSlider.value = String(place);
    blockSlider.setAttribute("aria-valuetext", `tile block ${name}, ${place + 1} of ${order.length}`);
    fill(blockText, `${name}, ${grouped(place + 1)} of ${grouped(order.length)}`);
    if (document.activeElement !== jump) jump.value = blockId(order[place], summary.grid).join(",");
    stepSlider.max = String(steps[place]);
    stepSlider.value = String(step);
    fill(stepText, `${grouped(step)} of ${grouped(steps[place])}`);
    if (known?.place !== place) {
      // While a slider is dragged over many blocks, only those that it rests on are asked about.
      await new Promise((resolve) => setTimeout(resolve, 40));
      if (context.state.place !== place) return;
      try {
        known = { place, operations: await context.executed(place) };
      } catch (error) {
        fill(operationText, messageOf(error));
        return;
      }
    }
    if (context.state.place !== place || context.state.step !== step) return;
    const operation = step > 0 ? known.operations[step - 1] : null;
    showOperation(operation, steps[place]);
    if (following) {
      following = false;
      context.select({ operation });
    }
  }

  /** @param {number | null} operation @param {number} count */
  function showOperation(operation, count) {
    if (operation === null) {
      const words = `before the first of ${counted(count, "step")}`;
      stepSlider.setAttribute("aria-valuetext", words);
      fill(operationText, element("span.quiet", words));
      return;
    }
    const info = summary.operations[operation];
    stepSlider.setAttribute("aria-valuetext", `step ${context.state.step} of ${count}: ${info.text}`);
    fill(operationText, ...operationParts(info));
  }

  return { id: "timeline", title: "Tile block and step", element: root, update };
}
