// Colors of program text: a line is cut into pieces, each with what it is.  One regular expression for each language;
// what it does not know stays plain, so no text is ever wrong, only less colorful.

import { element } from "page/elements.js";

/** Longer lines are shown without colors: cutting them up would take too long. */
const LONGEST_COLORED = 2000;

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

const CPP_WORDS = [
  "alignas auto bool break case char class concept const constexpr continue default do double else enum extern false",
  "float for if inline int long namespace requires return short signed sizeof static struct switch template true",
  "typename union unsigned using void volatile while __global__ __device__ __tile__ __tile_global__ __restrict__",
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
  cpp: grammar(
    String.raw`(?<comment>//.*|/\*.*?\*/)`,
    STRING,
    String.raw`(?<symbol>^\s*#\s*\w+)`,
    words("keyword", CPP_WORDS),
    NUMBER,
    String.raw`(?<operation>\b[A-Za-z_]\w*(?=[(<]))`,
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

/** @param {string[]} rules */
function grammar(...rules) {
  return new RegExp(rules.join("|"), "g");
}

/** @param {string} kind @param {string} list */
function words(kind, list) {
  return `(?<${kind}>\\b(?:${list.split(" ").join("|")})\\b)`;
}

/** A line in pieces, each with what it is; their texts joined are the line. @param {string} text @param {string} language */
function piecesOf(text, language) {
  const rules = text.length > LONGEST_COLORED ? undefined : GRAMMARS[language];
  const pieces = [];
  let end = 0;
  for (const { 0: piece, index, groups = {} } of rules === undefined ? [] : text.matchAll(rules)) {
    if (piece === "") continue;
    if (index > end) pieces.push({ text: text.slice(end, index), kind: "" });
    pieces.push({ text: piece, kind: Object.keys(groups).find((name) => groups[name] !== undefined) ?? "" });
    end = index + piece.length;
  }
  return [...pieces, { text: text.slice(end), kind: "" }];
}

/**
 * A line as parts of the page, with every place marked that has what is searched for.
 * @param {string} line @param {string} language @param {string} query In lower case; "" for none.
 * @returns {Child[]}
 */
export function coloredLine(line, language, query) {
  /** @type {number[]} */
  const places = [];
  const lower = query === "" ? "" : line.toLowerCase();
  for (let at = query === "" ? -1 : lower.indexOf(query); at >= 0; at = lower.indexOf(query, at + query.length)) places.push(at);
  let start = 0;
  return piecesOf(line, language).flatMap(({ text, kind }) => {
    const end = start + text.length;
    /** @type {Child[]} */
    const parts = [];
    for (const place of places) {
      const from = Math.max(place, start);
      const to = Math.min(place + query.length, end);
      if (from >= to) continue;
      parts.push(line.slice(start, from), element("mark", line.slice(from, to)));
      start = to;
    }
    parts.push(line.slice(start, end));
    start = end;
    const shown = parts.filter((part) => part !== "");
    const style = { "--code": `var(--code-${kind})` };
    return kind === "" ? shown : [element(kind === "comment" ? "em.code" : "span.code", { style }, ...shown)];
  });
}
