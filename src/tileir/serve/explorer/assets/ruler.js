// A strip beside a listing that shows where in the whole text its marks are.

/**
 * Marks of one kind: their rows, a custom property of CSS that has their colour, and the part of the strip they take.
 * @typedef {{ rows: number[], colour: string, side: "left" | "right" | "both" }} Layer
 */

const SIDES = { left: [0, 0.4], right: [0.6, 1], both: [0, 1] };
/** In pixels: a single mark in a long text is still seen. */
const LEAST_HEIGHT = 2;

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} count Rows of the whole text.
 * @param {Layer[]} layers Later ones are drawn over earlier ones.
 */
export function drawRuler(canvas, count, layers) {
  const { clientWidth, clientHeight } = canvas;
  const pen = canvas.getContext("2d");
  if (pen === null || clientHeight === 0) return;
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(clientWidth * scale);
  canvas.height = Math.round(clientHeight * scale);
  pen.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const height = Math.max(LEAST_HEIGHT, clientHeight / count);
  for (const { rows, colour, side } of layers) {
    const [from, to] = SIDES[side];
    pen.fillStyle = style.getPropertyValue(colour).trim() || "gray";
    let filled = -1;
    for (const row of rows) {
      const top = Math.min((row / count) * clientHeight, clientHeight - height);
      // Many rows of a long text share a pixel.
      if (Math.round(top * scale) === filled) continue;
      filled = Math.round(top * scale);
      pen.fillRect(from * clientWidth, top, (to - from) * clientWidth, height);
    }
  }
}
