// The frame of a page: errors, tabs, colors, and the state, which stands in the address and which all views follow.

import { button, byId, element, hasModifier, isTyping, messageOf, moveByKeys } from "page/elements.js";

/** Shows an error above the view, once. @param {unknown} error */
export function reportError(error) {
  const text = messageOf(error);
  const shown = Array.from(document.querySelectorAll("#problems .problem span"));
  if (shown.some((one) => one.textContent === text)) return;
  const problem = element("p.problem", element("span", text), button("Dismiss", () => problem.remove()));
  byId("problems").append(problem);
}

/** Runs what makes the page; an error in it, or later, is shown. @param {() => Promise<void>} main */
export function startPage(main) {
  addEventListener("error", (event) => reportError(event.error ?? event.message));
  addEventListener("unhandledrejection", (event) => reportError(event.reason));
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("content").focus();
  });
  main().catch((error) => {
    document.getElementById("loading")?.remove();
    reportError(error);
  });
}

/** What the page carries, or null. */
export function embedded() {
  return JSON.parse(byId("embedded").textContent ?? "null");
}

/** Bytes from base64. @param {string} text @returns {Uint8Array<ArrayBuffer>} */
export function decoded(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** The value that `packed` of one_file.py has compressed. @param {string} text */
export async function unpacked(text) {
  const stream = new Blob([decoded(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** Tells people who cannot see the page. @param {string} text */
export function announce(text) {
  byId("announcements").textContent = text;
}

/** A function that runs another one before the next frame, once for all calls until then. @param {() => void} act */
export function oncePerFrame(act) {
  let isPlanned = false;
  return () => {
    if (isPlanned) return;
    isPlanned = true;
    requestAnimationFrame(() => {
      isPlanned = false;
      act();
    });
  };
}

/**
 * Shows the views of a page by its state: sets `context.select`, which changes the state.  The state stands in the
 * address, so that the browser's way back, a bookmark or a link brings it again.
 * @template {{ view: string }} State
 * @param {{ state: State, select(change: Partial<State>): void }} context
 * @param {PageView<State>[]} views @param {State} beginning
 * @param {(state: State) => State} limited  The nearest state that makes sense.
 * @param {(keyof State)[]} steps  What the browser goes back by; anything else changes the address in place.
 * @param {PageView<State>[]} [others]  What follows the state beside the view that is shown.
 */
export function showViews(context, views, beginning, limited, steps, others = []) {
  const showTab = createTabs(views, (view) => context.select(/** @type {Partial<State>} */ ({ view })));
  const updates = new Map([...others, ...views].map((view) => [view, updating(() => view.update(context.state))]));
  const shown = () => views.find((view) => view.id === context.state.view) ?? views[0];
  /** @type {State | null} */
  let written = null;
  // A slider moves more often than the screen is drawn.
  const redraw = oncePerFrame(() => {
    const [before, state] = [written, context.state];
    written = state;
    writeAddress(`#${writtenState(state, beginning)}`, before !== null && steps.some((name) => before[name] !== state[name]));
    showTab(state.view);
    for (const view of [...others, shown()]) void updates.get(view)?.();
  });
  context.select = (change) => {
    const next = limited({ ...context.state, ...change });
    if (writtenState(next, beginning) === writtenState(context.state, beginning)) return;
    context.state = next;
    redraw();
  };
  addEventListener("hashchange", () => context.select(readState(location.hash, beginning)));
  redraw();
  return { shown, redraw };
}

/** Updates one call at a time, always to the newest state. @param {() => void | Promise<void>} update */
function updating(update) {
  let [isRunning, again] = [false, false];
  return async () => {
    again = true;
    if (isRunning) return;
    isRunning = true;
    while (again) {
      again = false;
      try {
        await update();
      } catch (error) {
        reportError(error);
      }
    }
    isRunning = false;
  };
}

/** @param {string} hash @param {boolean} isStep */
function writeAddress(hash, isStep) {
  if (location.hash === hash) return;
  try {
    history[isStep ? "pushState" : "replaceState"](null, "", hash);
  } catch {
    // A page inside of another one, as in a notebook, has no address of its own.
  }
}

/**
 * The row of tabs and their panels; the keys 1 .. 9 choose one too.  Returns what shows another tab.
 * @param {Tab[]} tabs @param {(id: string) => void} choose @returns {(id: string) => void}
 */
function createTabs(tabs, choose) {
  const buttons = tabs.map(({ id, title }) =>
    button(title, () => choose(id), { role: "tab", id: `tab-${id}`, "aria-controls": `view-${id}` }),
  );
  const row = byId("tabs");
  row.append(...buttons);
  /** @param {number} place */
  const go = (place) => {
    buttons[place].focus();
    choose(tabs[place].id);
  };
  const at = () => buttons.findIndex((one) => one.tabIndex === 0);
  moveByKeys(row, () => ({ at: at(), last: tabs.length - 1 }), go, "ArrowRight");
  addEventListener("keydown", (event) => {
    if (hasModifier(event) || isTyping(event.target)) return;
    const isOpen = document.querySelector("dialog[open]") !== null;
    if (/^[1-9]$/.test(event.key) && Number(event.key) <= tabs.length && !isOpen) go(Number(event.key) - 1);
  });
  for (const { id, element: panel } of tabs) {
    panel.id = `view-${id}`;
    panel.classList.add("view");
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", `tab-${id}`);
    panel.hidden = true;
  }
  byId("content").replaceChildren(...tabs.map((tab) => tab.element));
  return (shown) => {
    let isLeft = false;
    for (const [place, { id, element: panel }] of tabs.entries()) {
      const chosen = id === shown;
      // On a narrow screen tabs scroll; scrollIntoView would also move where the Tab key begins.
      const left = buttons[place].offsetLeft - row.offsetLeft;
      if (chosen) row.scrollLeft = Math.min(Math.max(row.scrollLeft, left + buttons[place].offsetWidth - row.clientWidth), left);
      buttons[place].setAttribute("aria-selected", String(chosen));
      buttons[place].tabIndex = chosen ? 0 : -1;
      isLeft ||= !chosen && panel.contains(document.activeElement);
      panel.hidden = !chosen;
    }
    // A link inside a view leads to another one and is hidden: the focus moves to the tab.
    if (isLeft) buttons[at()].focus();
  };
}

/**
 * What was kept under a name: in a cookie, as the port of a server changes, or of a page from a file in its storage.
 * @param {string} name
 */
export function remembered(name) {
  try {
    return document.cookie.match(`(?:^|; )${name}=([^;]*)`)?.[1] ?? localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keeps a word; false in pages inside of others, which may keep nothing. @param {string} name @param {string} word */
export function remember(name, word) {
  try {
    localStorage.setItem(name, word);
    document.cookie = `${name}=${word}; path=/; max-age=31536000; samesite=strict`;
    return true;
  } catch {
    return false;
  }
}

/** The button that changes between dark and light; pages begin as the system is. @param {() => void} [redraw] */
export function createTheme(redraw = () => {}) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = remembered("tileir-theme");
  const apply = () => {
    const isDark = chosen === "dark" || (chosen !== "light" && system.matches);
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    toggle.textContent = isDark ? "Light" : "Dark";
    toggle.title = `${toggle.textContent} colors`;
    redraw();
  };
  const toggle = button("", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    remember("tileir-theme", chosen);
    apply();
  });
  system.addEventListener("change", apply);
  apply();
  return toggle;
}

/**
 * A state as the part of an address behind the `#`: what differs from the beginning.
 * @param {object} state @param {object} beginning
 */
export function writtenState(state, beginning) {
  const words = new URLSearchParams();
  for (const [name, first] of Object.entries(beginning)) {
    const value = Reflect.get(state, name);
    if (String(value) !== String(first)) words.set(name, String(value));
  }
  return words.toString();
}

/**
 * The state that an address has.  Anybody may have written it: what makes no sense is left out.
 * @template {object} State
 * @param {string} hash @param {State} beginning
 * @returns {State}
 */
export function readState(hash, beginning) {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const natural = (/** @type {string} */ text) => (/^[0-9]{1,15}$/.test(text) ? [Number(text)] : []);
  const read = Object.entries(beginning).map(([name, first]) => {
    const text = words.get(name);
    if (text === null) return [name, first];
    if (typeof first === "string") return [name, text];
    const numbers = text.split(",").flatMap(natural);
    return [name, Array.isArray(first) ? numbers.slice(0, 64) : (numbers[0] ?? first)];
  });
  return Object.fromEntries(read);
}
