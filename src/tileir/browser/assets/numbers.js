// Numbers in words.

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
const PREFIXES = ["", "k", "M", "G", "T", "P"];

/** `1.5 MiB`. @param {number} count */
export function bytes(count) {
  let unit = 0;
  while (count >= 1024 && unit < UNITS.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? count : short(count)} ${count === 1 && unit === 0 ? "byte" : UNITS[unit]}`;
}

/** `12,288`. @param {number} value */
export function grouped(value) {
  return value.toLocaleString("en-US", { maximumFractionDigits: 3 });
}

/** `3 tile blocks`, `1 tile block`. @param {number} value @param {string} thing @param {string} [things] */
export function counted(value, thing, things = `${thing}s`) {
  return `${grouped(value)} ${value === 1 ? thing : things}`;
}

/**
 * Three digits and a prefix: `4.8 T`.
 * @param {number} value @param {string} [unit]
 */
export function amount(value, unit = "") {
  let prefix = 0;
  while (Math.abs(value) >= 1000 && prefix < PREFIXES.length - 1) {
    value /= 1000;
    prefix += 1;
  }
  return `${short(value)} ${PREFIXES[prefix]}${unit}`.trim();
}

/** `12.3 us`. @param {number} value */
export function seconds(value) {
  if (value >= 1) return `${short(value)} s`;
  if (value >= 1e-3) return `${short(value * 1e3)} ms`;
  if (value >= 1e-6) return `${short(value * 1e6)} us`;
  return `${short(value * 1e9)} ns`;
}

/** Three digits that matter. @param {number} value */
export function short(value) {
  if (!Number.isFinite(value)) return String(value);
  const magnitude = Math.abs(value);
  if (magnitude >= 100) return String(Math.round(value));
  if (magnitude >= 10) return String(Math.round(value * 10) / 10);
  if (magnitude >= 0.01 || magnitude === 0) return String(Math.round(value * 100) / 100);
  return value.toExponential(2);
}
