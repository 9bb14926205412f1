// Elements of a page.  Whatever comes from a program (names, text, numbers) becomes a text node or an attribute, never
// markup: no code here makes HTML from text, and the Content-Security-Policy of the page forbids it.

/**
 * An HTML element: `element("p.note.bad", { title: "why" }, "text")`.  Attributes may be left out.
 * @template {string} Name
 * @param {Name} name @param {(Child | Attributes)[]} rest
 * @returns {HtmlOf<Name>}
 */
export function element(name, ...rest) {
  const [tag, ...classes] = name.split(".");
  return /** @type {HtmlOf<Name>} */ (made(document.createElement(tag), classes, rest));
}

/**
 * An SVG element, named as in `element`.
 * @template {string} Name
 * @param {Name} name @param {(Child | Attributes)[]} rest
 * @returns {SvgOf<Name>}
 */
export function svg(name, ...rest) {
  const [tag, ...classes] = name.split(".");
  return /** @type {SvgOf<Name>} */ (made(document.createElementNS("http://www.w3.org/2000/svg", tag), classes, rest));
}

/** @param {Element} target @param {string[]} classes @param {(Child | Attributes)[]} rest */
function made(target, classes, rest) {
  const [first, ...others] = rest;
  const hasAttributes = typeof first === "object" && first !== null && !(first instanceof Node);
  if (hasAttributes) setAttributes(/** @type {HTMLElement} */ (target), first);
  if (classes.length > 0) target.classList.add(...classes);
  append(target, /** @type {Child[]} */ (hasAttributes ? others : rest));
  return target;
}

/** @param {HTMLElement | SVGElement} target @param {Attributes} attributes */
export function setAttributes(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) target.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name === "style") {
      for (const [property, text] of Object.entries(/** @type {object} */ (value))) {
        target.style.setProperty(property, String(text));
      }
    } else if (value === false || value === null || value === undefined) target.removeAttribute(name);
    else target.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @param {Node} target @param {Child[]} children */
function append(target, children) {
  for (const child of children) {
    if (child === null || child === undefined) continue;
    target.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Replaces the contents of an element. @param {Element} target @param {Child[]} children */
export function fill(target, ...children) {
  target.textContent = "";
  append(target, children);
}

/** @param {string} label @param {(event: MouseEvent) => void} pressed @param {Attributes} [attributes] */
export function button(label, pressed, attributes = {}) {
  return element("button", { type: "button", onclick: pressed, ...attributes }, label);
}

/** A control with its label. @param {string} label @param {HTMLElement} control */
export function field(label, control) {
  return element("label.field", element("span", label), control);
}

/** @param {string} label @param {boolean} checked @param {(checked: boolean) => void} changed */
export function checkbox(label, checked, changed) {
  const input = element("input", { type: "checkbox", checked, onchange: () => changed(input.checked) });
  return element("label.field", input, label);
}

/**
 * A choice of one of several things.
 * @param {{ value: string, title: string, disabled?: boolean }[]} options @param {string} value
 * @param {(value: string) => void} chosen @param {Attributes} [attributes]
 */
export function choice(options, value, chosen, attributes = {}) {
  const items = options.map((one) => element("option", { value: one.value, disabled: one.disabled ?? false }, one.title));
  const made = element("select", { ...attributes, onchange: () => chosen(made.value) }, ...items);
  made.value = value;
  return made;
}

/** A table; cells that are numbers are aligned as such. @param {string} caption @param {string[]} headers @param {Child[][]} rows */
export function table(caption, headers, rows) {
  const cell = (/** @type {Child} */ child, /** @type {number} */ column) => {
    if (column === 0) return element("th", { scope: "row" }, child);
    return element(typeof child === "number" ? "td.number" : "td", child);
  };
  return element(
    "table.data",
    element("caption", caption),
    element("thead", element("tr", ...headers.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", ...rows.map((row) => element("tr", ...row.map(cell)))),
  );
}

/** Terms with what they are. @param {[string, Child][]} rows */
export function pairs(rows) {
  return element("dl.pairs", ...rows.flatMap(([term, child]) => [element("dt", term), element("dd", child)]));
}

/** A part of a view with a heading. @param {string} title @param {Child[]} children */
export function panel(title, ...children) {
  return element("section.panel", { "aria-label": title }, element("h2", title), ...children);
}

/** A part that scrolls on its own, also with the keyboard. @param {string} name @param {Element} part */
export function scrolled(name, part) {
  return element("div.scrolled", { tabindex: 0, role: "region", "aria-label": name }, part);
}

/** Paragraphs that a reader should notice. @param {readonly string[]} texts */
export function notes(texts) {
  return texts.map((text) => element("p.note", text));
}

/** Shown where there is nothing else to show. @param {string} text */
export function empty(text) {
  return element("p.empty", text);
}

/**
 * Shows a text until an answer comes, then what is made of it, or why it failed; returns whether it could be shown.
 * @template Answer
 * @param {Element} target @param {string} waiting @param {Promise<Answer>} answer @param {(answer: Answer) => Child[]} parts
 */
export async function fillLater(target, waiting, answer, parts) {
  fill(target, empty(waiting));
  try {
    fill(target, ...parts(await answer));
    return true;
  } catch (error) {
    fill(target, empty(messageOf(error)));
    return false;
  }
}

/** A bar for eyes; the number stands beside it. @param {number} part  From 0 to 1. */
export function share(part) {
  const width = `${Math.max(0, Math.min(1, part)) * 100}%`;
  return element("span.share", { "aria-hidden": "true" }, element("span", { style: { width } }));
}

/** The message of whatever was thrown. @param {unknown} error */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {string} id */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element "${id}"`);
  return found;
}

/** Whether a key belongs to the browser or the system. @param {KeyboardEvent} event */
export function hasModifier(event) {
  return event.ctrlKey || event.altKey || event.metaKey;
}

/** Whether keys go into a control. @param {EventTarget | null} target */
export function isTyping(target) {
  if (target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement) return true;
  return target instanceof HTMLInputElement && !["range", "checkbox", "radio", "button"].includes(target.type);
}

/**
 * Moves through a list with the arrow keys, Home, End and the page keys.
 * @param {HTMLElement} list @param {() => { at: number, last: number, page?: number }} place
 * @param {(target: number) => void} choose @param {"ArrowDown" | "ArrowRight"} [forward]
 */
export function moveByKeys(list, place, choose, forward = "ArrowDown") {
  list.addEventListener("keydown", (event) => {
    if (hasModifier(event)) return;
    const { at, last, page = 1 } = place();
    const back = forward === "ArrowDown" ? "ArrowUp" : "ArrowLeft";
    /** @type {Record<string, number>} */
    const targets = { [back]: at - 1, [forward]: at + 1, PageUp: at - page, PageDown: at + page, Home: 0, End: last };
    const target = targets[event.key];
    if (target === undefined || last < 0) return;
    event.preventDefault();
    event.stopPropagation();
    choose(Math.max(0, Math.min(last, target)));
  });
}
