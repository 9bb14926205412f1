// Light colouring of program text: a line is cut into pieces, each with the class it is shown in.  One regular
// expression for each language; what it does not know stays plain, so no text is ever wrong, only less colourful.

import { element } from "page/elements.js";

/** @typedef {import("page/elements.js").Child} Child */
/**
 * A piece of a line: its text, and "" or what it is.
 * @typedef {{ text: string, kind: string }} Piece
 */

/** Longer lines are shown without colours: cutting them up would take longer than looking at them is worth. */
const LONGEST_COLOURED = 2000;

const NUMBER = String.raw`(?<number>\b0x[0-9a-fA-F]+\b|\b\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b)`;
const STRING = String.raw`(?<string>"(?:[^"\\]|\\.)*"?)`;

const PYTHON_WORDS = [
  "and as assert async await break class continue def del elif else except finally for from global if import in is",
  "lambda nonlocal not or pass raise return try while with yield None True False",
].join(" ");
const TILE_WORDS = "cuda_tile module entry for in loop if else to step yield continue break return token weak relaxed";
const LLVM_WORDS = [
  "define declare target attributes alwaysinline noalias nocapture readonly nounwind to label align inbounds nuw nsw",
  "fast contract private internal constant global unnamed_addr local_unnamed_addr distinct x null undef poison true",
  "false zeroinitializer vscale",
].join(" ");

/** @type {Record<string, RegExp>} */
const GRAMMARS = {
  python: grammar(
    String.raw`(?<comment>#.*)`,
    String.raw`(?<string>[rbf]?"""(?:.*?"""|.*)|[rbf]?'(?:[^'\\]|\\.)*'?|[rbf]?"(?:[^"\\]|\\.)*"?)`,
    String.raw`(?<symbol>@[\w.]+)`,
    words("keyword", PYTHON_WORDS),
    NUMBER,
    String.raw`(?<operation>\b[A-Za-z_]\w*(?=\())`,
  ),
  tile: grammar(
    String.raw`(?<comment>//.*)`,
    STRING,
    String.raw`(?<value>%[\w$.#-]+)`,
    String.raw`(?<symbol>@[\w$.-]+)`,
    String.raw`(?<type>\b(?:[\d?]+x)*(?:(?:tile|ptr|\w+_view)(?=<)|(?:[if]\d+|bf16|tf32|f\d\w+)\b))`,
    words("keyword", TILE_WORDS),
    NUMBER,
    String.raw`(?<operation>\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b|(?<==\s|^\s*)[a-z]\w*)`,
  ),
  bytecode: grammar(
    String.raw`(?<comment>;.*|\|.*)`,
    STRING,
    String.raw`(?<number>^\s*(?:0x)?[0-9a-fA-F]{4,}\b:?)`,
    String.raw`(?<value>%[\w$.#-]+)`,
    String.raw`(?<symbol>@[\w$.-]+)`,
  ),
  loops: grammar(
    String.raw`(?<comment>//.*|#.*|;.*)`,
    STRING,
    String.raw`(?<value>%[\w$.#-]+)`,
    String.raw`(?<symbol>@[\w$.-]+)`,
    words("keyword", "for while if else in to step parallel vector function return break continue loop let call range"),
    String.raw`(?<type>\b(?:[iuf]\d+|bf16|tf32|f\d\w+)(?:x\d+)?\b)`,
    NUMBER,
    String.raw`(?<operation>\b[A-Za-z_]\w*(?=\())`,
  ),
  llvm: grammar(
    String.raw`(?<comment>;.*)`,
    STRING,
    String.raw`(?<value>%[\w$.-]+|%"[^"]*")`,
    String.raw`(?<symbol>@[\w$.-]+|@"[^"]*"|![\w.]+|#\d+)`,
    String.raw`(?<type>\b(?:i\d+|float|double|half|bfloat|ptr|void|metadata)\b)`,
    words("keyword", LLVM_WORDS),
    NUMBER,
    String.raw`(?<operation>(?<==\s)[a-z]\w*|(?<=^\s+)[a-z]\w*)`,
  ),
  assembly: grammar(
    String.raw`(?<comment>//.*|#(?!-?\d).*|;.*|/\*.*?\*/)`,
    STRING,
    String.raw`(?<symbol>^[\w.$]+:|^\s*\.[\w.]+)`,
    String.raw`(?<value>%\w+|\b(?:[xwvzpqdshb]\d{1,2}(?:\.\d*[bhsdq])?|sp|[xw]zr|U?R\d+|U?RZ|U?P[T\d]|[er][abcd]x|[xyz]mm\d+)\b)`,
    String.raw`(?<number>[#$]-?(?:0x[0-9a-fA-F]+|\d+)|\b0x[0-9a-fA-F]+\b|\b\d+\b)`,
    String.raw`(?<operation>(?<=^\s+(?:/\*\w+\*/\s*)?(?:@!?U?P\w+\s+)?)[A-Za-z][\w.]*)`,
  ),
};

/**
 * @param {string[]} rules
 * @returns {RegExp}
 */
function grammar(...rules) {
  return new RegExp(rules.join("|"), "g");
}

/**
 * @param {string} kind
 * @param {string} list
 * @returns {string}
 */
function words(kind, list) {
  return `(?<${kind}>\\b(?:${list.split(" ").join("|")})\\b)`;
}

/**
 * A line in pieces; their texts joined are the line.
 * @param {string} text
 * @param {string} language
 * @returns {Piece[]}
 */
export function coloured(text, language) {
  const rules = GRAMMARS[language];
  if (rules === undefined || text.length > LONGEST_COLOURED) {
    return [{ text, kind: "" }];
  }
  /** @type {Piece[]} */
  const pieces = [];
  let end = 0;
  for (const found of text.matchAll(rules)) {
    const start = found.index ?? 0;
    if (found[0] === "") continue;
    if (start > end) pieces.push({ text: text.slice(end, start), kind: "" });
    const groups = found.groups ?? {};
    const kind = Object.keys(groups).find((name) => groups[name] !== undefined) ?? "";
    pieces.push({ text: found[0], kind });
    end = start + found[0].length;
  }
  if (end < text.length || pieces.length === 0) {
    pieces.push({ text: text.slice(end), kind: "" });
  }
  return pieces;
}

/**
 * A line as parts of the page, with every place marked that has what is searched for.
 * @param {string} line
 * @param {string} language
 * @param {string} query In lower case; "" for none.
 * @returns {Child[]}
 */
export function shownLine(line, language, query) {
  const places = query === "" ? [] : occurrences(line.toLowerCase(), query);
  /** @type {Child[]} */
  const nodes = [];
  let start = 0;
  for (const piece of coloured(line, language)) {
    const end = start + piece.text.length;
    /** @type {Child[]} */
    const parts = [];
    let done = start;
    for (const place of places) {
      const from = Math.max(place, done);
      const to = Math.min(place + query.length, end);
      if (from >= to) continue;
      if (from > done) parts.push(line.slice(done, from));
      parts.push(element("mark", {}, line.slice(from, to)));
      done = to;
    }
    if (done < end) parts.push(line.slice(done, end));
    nodes.push(...(piece.kind === "" ? parts : [element("span", { class: `code-${piece.kind}` }, ...parts)]));
    start = end;
  }
  return nodes;
}

/**
 * @param {string} line
 * @param {string} query
 */
function occurrences(line, query) {
  const places = [];
  for (let place = line.indexOf(query); place >= 0; place = line.indexOf(query, place + query.length)) {
    places.push(place);
  }
  return places;
}
