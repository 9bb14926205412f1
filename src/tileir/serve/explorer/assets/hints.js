// Five hints for who sees the page for the first time; the help shows them again.

import { button, element } from "page/elements.js";
import { remember, remembered } from "page/page.js";

/** The part of the first view that a hint stands at, its title and its text. */
const HINTS = [
  [".source", "Your code", "The arrow is the line of this step; lines with findings are red. Click a line to go to the next step that runs it."],
  [".timeline", "Tile blocks and steps", "One slider selects a tile block (in Triton, a program), the other a step of it. The keys , and . go a step back and forward."],
  ["[aria-label=Variables]", "Values at this step", "Variables and arrays as they are at this step. Click a name to see all elements, or a step to go where a value was set."],
  ["[aria-label=Findings]", "Findings", "Races and accesses outside of arrays, with both lines. The page opens at the first; a button shows its accesses in memory."],
  ["#tabs", "More views", "Memory shows who touches which element, Values whole tiles, Stages the program from source to machine code, Cost the time on a GPU."],
];

/** Shows the hints to who has not seen them; returns what shows them again. @param {Context} context @param {boolean} isOpening */
export function createHints(context, isOpening) {
  /** @type {(() => void) | null} */
  let end = null;

  /** @param {number} number */
  function show(number) {
    const hints = HINTS.filter(([at]) => document.querySelector(at) !== null);
    const [at, title, text] = hints[number];
    const target = /** @type {HTMLElement} */ (document.querySelector(at));
    end?.();
    context.select({ view: "overview" });
    const isLast = number === hints.length - 1;
    const next = button(isLast ? "Done" : "Next", () => (isLast ? end?.() : show(number + 1)), { class: "primary" });
    const count = `${number + 1} of ${hints.length}`;
    const card = element(
      "section.hint",
      { role: "dialog", "aria-label": `Hint ${count}` },
      element("h2", title),
      element("p", text),
      element(
        "div.toolbar",
        next,
        number === 0 ? null : button("Back", () => show(number - 1)),
        isLast ? null : button("Close", () => end?.(), { title: "Close the hints (Escape)" }),
        element("span.quiet", count),
      ),
    );
    const place = () => {
      const [space, { left, top, bottom }] = [10, target.getBoundingClientRect()];
      const [width, height] = [innerWidth - card.offsetWidth - space, innerHeight - card.offsetHeight - space];
      const below = bottom + space <= height ? bottom + space : Math.min(top - card.offsetHeight - space, height);
      card.style.left = `${Math.max(space, Math.min(left, width))}px`;
      card.style.top = `${below >= space ? below : height}px`;
    };
    // Parts get their size as answers come.
    const watcher = new ResizeObserver(place);
    const escape = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && end?.();
    end = () => {
      watcher.disconnect();
      removeEventListener("keydown", escape);
      target.classList.remove("is-hinted");
      card.remove();
      end = null;
    };
    addEventListener("keydown", escape);
    target.classList.add("is-hinted");
    document.body.prepend(card);
    requestAnimationFrame(() => {
      target.scrollIntoView({ block: "nearest" });
      for (const one of [target, document.body]) watcher.observe(one);
      next.focus({ preventScroll: true });
    });
  }

  // A page that may keep nothing, as in a notebook, would show them each time.
  if (isOpening && remembered("tileir-hints") === null && remember("tileir-hints", "seen")) show(0);
  return () => show(0);
}
