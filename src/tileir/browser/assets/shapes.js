// Pictures as lists of shapes: drawn on a canvas for the screen, written as SVG for papers, saved as files.

import { announce } from "page/page.js";
import { element, svg } from "page/elements.js";

/** Rectangles beyond which the cells of an SVG are an image. */
const RECTANGLES = 5_000;
/** Pixels of a saved PNG for one of the page. */
const SCALE = 2;
/** What an SVG takes from the style sheet of the page, which is not saved with it. */
const PROPERTIES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linejoin",
  "paint-order", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline",
];
const ALIGNMENTS = /** @type {const} */ ({ start: "left", middle: "center", end: "right" });

/** Colors by theme and name. @type {Map<string, string>} */
const colors = new Map();

/** A color of the style sheet, as a canvas takes it. @param {string} name */
export function styleColor(name) {
  const key = `${document.documentElement.dataset.theme} ${name}`;
  const known = colors.get(key);
  if (known !== undefined) return known;
  const probe = element("span", { hidden: true, style: { color: `var(${name})` } });
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  colors.set(key, color);
  return color;
}

/**
 * Draws on a canvas, which gets its size in pixels of the page and as many pixels as the screen has.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height @param {Shape[]} shapes
 */
export function draw(canvas, width, height, shapes) {
  const ratio = window.devicePixelRatio || 1;
  const [columns, rows] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== columns || canvas.height !== rows) {
    Object.assign(canvas, { width: columns, height: rows });
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = penOf(canvas);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.imageSmoothingEnabled = false;
  for (const shape of shapes) drawShape(pen, shape);
}

/** @param {HTMLCanvasElement} canvas */
function penOf(canvas) {
  const pen = canvas.getContext("2d");
  if (pen === null) throw new Error("this browser cannot draw");
  return pen;
}

/** @param {CanvasRenderingContext2D} pen @param {Shape} shape */
function drawShape(pen, shape) {
  const { rect, d, fill, stroke, width = 1, dash = "", opacity = 1, text, x = 0, y = 0, cells, parts, clip } = shape;
  pen.save();
  pen.globalAlpha = opacity;
  pen.fillStyle = fill ?? "none";
  if (parts !== undefined) {
    pen.translate(x, y);
    if (clip !== undefined) pen.clip(new Path2D(clip));
    for (const part of parts) drawShape(pen, part);
  } else if (cells !== undefined && rect !== undefined) {
    if (cells.rows * cells.columns > 0) pen.drawImage(imageOf(cells), rect.x, rect.y, rect.width, rect.height);
  } else if (text !== undefined) {
    pen.font = `${shape.bold ? "bold " : ""}${shape.size ?? 11}px sans-serif`;
    pen.textAlign = ALIGNMENTS[shape.anchor ?? "start"];
    pen.fillText(text, x, y);
  } else {
    const path = new Path2D(d);
    if (rect !== undefined) path.rect(rect.x, rect.y, rect.width, rect.height);
    pen.setLineDash(dash.split(" ").filter(Boolean).map(Number));
    pen.lineJoin = "round";
    pen.lineWidth = width;
    pen.strokeStyle = stroke ?? "none";
    if (fill !== undefined) pen.fill(path);
    if (stroke !== undefined) pen.stroke(path);
  }
  pen.restore();
}

/** @param {NonNullable<Shape["cells"]>} cells */
function imageOf({ pixels, rows, columns }) {
  const canvas = element("canvas", { width: columns, height: rows });
  const image = new ImageData(columns, rows);
  new Uint32Array(image.data.buffer).set(pixels);
  penOf(canvas).putImageData(image, 0, 0);
  return canvas;
}

/** @param {string} label @param {number} width @param {number} height @param {Shape[]} shapes */
export function svgOf(label, width, height, shapes) {
  const look = { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label };
  let clips = 0;
  /** @type {(shape: Shape) => SVGElement[]} */
  const written = ({ rect, d, fill = "none", stroke, width, dash, opacity, text, x, y, anchor, size, bold, cells, ...group }) => {
    if (group.parts !== undefined) {
      const name = `clip-${clips++}`;
      const inside = group.parts.flatMap(written);
      const transform = `translate(${x ?? 0} ${y ?? 0})`;
      if (group.clip === undefined) return [svg("g", { transform }, ...inside)];
      const clipped = svg("g", { transform, "clip-path": `url(#${name})` }, ...inside);
      return [svg("clipPath", { id: name }, svg("path", { d: group.clip })), clipped];
    }
    if (cells !== undefined && rect !== undefined) return writtenCells(cells, rect);
    const line = { fill, stroke, "stroke-width": width, "stroke-dasharray": dash, opacity };
    const letters = { "text-anchor": anchor, "font-size": size ?? 11, "font-weight": bold ? "bold" : null };
    if (text !== undefined) return [svg("text", { x, y, fill, ...letters }, text)];
    return [rect === undefined ? svg("path", { d, ...line }) : svg("rect", { ...rect, ...line })];
  };
  return svg("svg", { ...look, "font-family": "sans-serif" }, svg("title", label), ...shapes.flatMap(written));
}

/**
 * Rectangles of one color; an image where there are too many.
 * @param {NonNullable<Shape["cells"]>} cells @param {NonNullable<Shape["rect"]>} rect
 */
function writtenCells(cells, { x, y, width, height }) {
  const runs = joined(cells.pixels, cells.rows, cells.columns);
  if (runs.length > RECTANGLES) {
    const look = { href: imageOf(cells).toDataURL("image/png"), preserveAspectRatio: "none", "image-rendering": "pixelated" };
    return [svg("image", { x, y, width, height, ...look })];
  }
  const [across, down] = [width / cells.columns, height / cells.rows];
  return runs.map((run) => {
    const place = { x: x + run.column * across, y: y + run.row * down, width: run.columns * across, height: run.rows * down };
    const fill = `#${[0, 8, 16].map((shift) => ((run.pixel >>> shift) & 255).toString(16).padStart(2, "0")).join("")}`;
    return svg("rect", { ...place, fill, "shape-rendering": "crispEdges" });
  });
}

/**
 * Rectangles of equal pixels: runs of a row, continued down while the next row has the same run.
 * @param {ArrayLike<number>} pixels @param {number} rows @param {number} columns
 */
export function joined(pixels, rows, columns) {
  /** @type {{ row: number, column: number, rows: number, columns: number, pixel: number }[]} */
  const found = [];
  /** @type {Map<string, (typeof found)[0]>} */
  let open = new Map();
  for (let row = 0; row < rows; row++) {
    /** @type {typeof open} */
    const next = new Map();
    for (let column = 0; column < columns; ) {
      const pixel = pixels[row * columns + column];
      let end = column + 1;
      while (end < columns && pixels[row * columns + end] === pixel) end++;
      if (pixel !== 0) {
        const key = `${column} ${end} ${pixel}`;
        const known = open.get(key);
        const run = known ?? { row, column, rows: 0, columns: end - column, pixel };
        run.rows++;
        if (known === undefined) found.push(run);
        next.set(key, run);
      }
      column = end;
    }
    open = next;
  }
  return found;
}

/** Diagonal lines in a rectangle, as a path. @param {NonNullable<Shape["rect"]>} rect */
export function hatching({ x, y, width, height }) {
  const gap = 6;
  let path = "";
  for (let sum = Math.ceil((x + y) / gap) * gap; sum < x + y + width + height; sum += gap) {
    // The part of the line x + y = sum that is within.
    const from = Math.max(x, sum - y - height);
    const to = Math.min(x + width, sum - y);
    path += `M${from} ${sum - from}L${to} ${sum - to}`;
  }
  return path;
}

/**
 * Indices for an axis: round steps, so many that their labels do not touch.
 * @param {number} from @param {number} count @param {number} scale @param {number} room
 */
export function ticks(from, count, scale, room) {
  let step = 1;
  const factors = [2, 2.5, 2];
  for (let round = 0; step * scale < room; round++) step *= factors[round % 3];
  step = Math.max(1, Math.round(step));
  const first = Math.ceil(from / step) * step;
  return Array.from({ length: Math.max(0, Math.ceil((from + count - first) / step)) }, (_, index) => first + index * step);
}

/** Saves a picture as a file. @param {SVGSVGElement} picture @param {string} name @param {"svg" | "png"} kind */
export async function savePicture(picture, name, kind) {
  const file = `${name}.${kind}`.replace(/[^A-Za-z0-9._-]+/g, "_");
  const drawing = standalone(picture);
  const text = new XMLSerializer().serializeToString(drawing);
  const blob = kind === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await pngOf(drawing, text);
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  announce(`Saved ${file}.`);
}

/** A copy that looks the same without the style sheet of the page. @param {SVGSVGElement} picture */
function standalone(picture) {
  // Styles are computed for what is in the document only.
  const holder = element("div.unseen", picture);
  document.body.appendChild(holder);
  const copy = /** @type {SVGSVGElement} */ (picture.cloneNode(true));
  const copies = [copy, ...copy.querySelectorAll("*")];
  for (const [index, original] of [picture, ...picture.querySelectorAll("*")].entries()) {
    const style = getComputedStyle(original);
    for (const property of PROPERTIES) copies[index].setAttribute(property, style.getPropertyValue(property));
    copies[index].removeAttribute("class");
    copies[index].removeAttribute("style");
  }
  holder.remove();
  return copy;
}

/** @param {SVGSVGElement} drawing @param {string} text @returns {Promise<Blob>} */
async function pngOf(drawing, text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const [width, height] = ["width", "height"].map((name) => Math.ceil(Number(drawing.getAttribute(name)) * SCALE));
  const canvas = element("canvas", { width, height });
  const pen = penOf(canvas);
  pen.fillStyle = styleColor("--surface");
  pen.fillRect(0, 0, width, height);
  pen.drawImage(image, 0, 0, width, height);
  return new Promise((resolve, reject) => {
    const failed = () => reject(new Error("the picture is too large for a PNG"));
    canvas.toBlob((blob) => (blob === null ? failed() : resolve(blob)), "image/png");
  });
}
