// What a page carries: JSON that `packed` of one_file.py has compressed.

/**
 * Bytes from base64.
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function decoded(text) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let index = 0; index < characters.length; index += 1) bytes[index] = characters.charCodeAt(index);
  return bytes;
}

/**
 * Text that was compressed by gzip and written as base64.
 * @param {string} text
 */
export async function inflated(text) {
  const stream = new Blob([decoded(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
