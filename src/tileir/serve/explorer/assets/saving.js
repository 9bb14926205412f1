// A view's picture as a file: SVG as it is drawn, PNG at twice the size for papers.

import { element, svg } from "page/elements.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").View} View
 */

const SCALE = 2;
// What an SVG takes from the page's style sheet, which does not go with it.
const PROPERTIES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linejoin", "paint-order", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline",
];

/**
 * @param {Context} context
 * @param {View} view
 * @param {"svg" | "png"} kind
 */
export async function savePicture(context, view, kind) {
  const picture = view.picture?.() ?? null;
  if (picture === null) {
    context.announce(`The view ${view.title} has no picture to save at this moment.`);
    return;
  }
  const name = `${context.summary.kernel}-${view.id}.${kind}`.replace(/[^A-Za-z0-9._-]+/g, "_");
  const blob = kind === "svg" ? svgOf(picture) : await pngOf(picture);
  download(blob, name);
  context.announce(`Saved ${name}.`);
}

/** @param {SVGSVGElement | HTMLCanvasElement} picture */
export function svgOf(picture) {
  const drawn = picture instanceof SVGSVGElement ? standalone(picture) : framed(picture);
  return new Blob([new XMLSerializer().serializeToString(drawn)], { type: "image/svg+xml" });
}

/**
 * A copy that looks the same without the page's style sheet.
 * @param {SVGSVGElement} picture
 */
function standalone(picture) {
  // Styles are computed for what is in the document only.
  const holder = picture.isConnected ? null : element("div", { class: "unseen" }, picture);
  if (holder !== null) document.body.appendChild(holder);
  const copy = /** @type {SVGSVGElement} */ (picture.cloneNode(true));
  const originals = [picture, ...picture.querySelectorAll("*")];
  const copies = [copy, ...copy.querySelectorAll("*")];
  for (const [index, original] of originals.entries()) {
    const style = getComputedStyle(original);
    for (const property of PROPERTIES) {
      const value = style.getPropertyValue(property);
      if (value !== "") copies[index].setAttribute(property, value);
    }
    copies[index].removeAttribute("class");
    copies[index].removeAttribute("style");
  }
  const box = picture.viewBox.baseVal;
  const { width, height } = picture.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(box?.width || width));
  copy.setAttribute("height", String(box?.height || height));
  holder?.remove();
  return copy;
}

/** @param {HTMLCanvasElement} canvas */
function framed(canvas) {
  const { width, height } = canvas;
  const made = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  made.appendChild(svg("image", { width, height, href: canvas.toDataURL("image/png") }));
  return made;
}

/**
 * @param {SVGSVGElement | HTMLCanvasElement} picture
 * @returns {Promise<Blob>}
 */
export async function pngOf(picture) {
  const canvas = picture instanceof SVGSVGElement ? await painted(standalone(picture)) : picture;
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob === null ? reject(new Error("the picture is too large for a PNG")) : resolve(blob)), "image/png");
  });
}

/** @param {SVGSVGElement} drawn */
async function painted(drawn) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(drawn))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(Number(drawn.getAttribute("width")) * SCALE);
  canvas.height = Math.ceil(Number(drawn.getAttribute("height")) * SCALE);
  const pen = canvas.getContext("2d");
  if (pen === null) throw new Error("this browser draws no canvas");
  pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--surface");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

/**
 * @param {Blob} blob
 * @param {string} name
 */
function download(blob, name) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
