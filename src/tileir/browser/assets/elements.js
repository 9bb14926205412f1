// Making parts of the page.  Whatever comes from a program (names, text, numbers) becomes a text node or an attribute,
// never markup: the page has no place where HTML is made from text, and its Content-Security-Policy forbids one.

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {Node | string | number | null | undefined} Child
 * @typedef {Record<string, unknown>} Attributes
 */

/**
 * An element of HTML.  Attributes whose name begins with "on" are listeners, `style` is an object of CSS properties,
 * `true` is an attribute without a value, and `false`, `null` and `undefined` are none.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  append(made, children);
  return made;
}

/**
 * An element of SVG, with attributes as those of `element`.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {Child[]} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  setAttributes(made, attributes);
  append(made, children);
  return made;
}

/**
 * @param {HTMLElement | SVGElement} target
 * @param {Attributes} attributes
 */
export function setAttributes(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) {
      if (typeof value === "function") target.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (name === "style") {
      for (const [property, text] of Object.entries(/** @type {Record<string, string>} */ (value))) {
        target.style.setProperty(property, String(text));
      }
    } else if (value === true) {
      target.setAttribute(name, "");
    } else if (value === false || value === null || value === undefined) {
      target.removeAttribute(name);
    } else {
      target.setAttribute(name, String(value));
    }
  }
}

/**
 * @param {Node} target
 * @param {Child[]} children
 */
function append(target, children) {
  for (const child of children) {
    if (child === null || child === undefined) continue;
    target.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/**
 * Replaces everything in an element.
 * @param {Element} target
 * @param {Child[]} children
 */
export function fill(target, ...children) {
  target.textContent = "";
  append(target, children);
}

/**
 * @param {string} label
 * @param {(event: MouseEvent) => void} pressed
 * @param {Attributes} [attributes]
 */
export function button(label, pressed, attributes = {}) {
  return element("button", { type: "button", onclick: pressed, ...attributes }, label);
}

/**
 * A control with its label.
 * @param {string} label
 * @param {HTMLElement} control
 */
export function field(label, control) {
  return element("label", { class: "field" }, element("span", {}, label), control);
}

/**
 * A choice of one of several things, by name.
 * @param {{ value: string, title: string, disabled?: boolean }[]} options
 * @param {string} value
 * @param {(value: string) => void} chosen
 * @param {Attributes} [attributes]
 */
export function choice(options, value, chosen, attributes = {}) {
  const made = element(
    "select",
    attributes,
    ...options.map((option) =>
      element("option", { value: option.value, disabled: option.disabled ?? false }, option.title),
    ),
  );
  made.value = value;
  made.addEventListener("change", () => chosen(made.value));
  return made;
}

/**
 * A table; cells that are numbers are aligned as such.
 * @param {string} caption
 * @param {string[]} headers
 * @param {Child[][]} rows
 */
export function table(caption, headers, rows) {
  return element(
    "table",
    { class: "data" },
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...headers.map((text) => element("th", { scope: "col" }, text)))),
    element(
      "tbody",
      {},
      ...rows.map((row) =>
        element(
          "tr",
          {},
          ...row.map((cell, index) =>
            index === 0
              ? element("th", { scope: "row" }, cell)
              : element("td", typeof cell === "number" ? { class: "number" } : {}, cell),
          ),
        ),
      ),
    ),
  );
}

/**
 * What is said where there is nothing to show.
 * @param {string} text
 */
export function empty(text) {
  return element("p", { class: "empty" }, text);
}

/**
 * The element of the page with an id.
 * @param {string} id
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element "${id}"`);
  return found;
}
