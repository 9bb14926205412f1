// Colours files with the grammar as editors do: `node tokens.mjs GRAMMAR FILE..` prints, for each file, its tokens as
// [line, start, end, innermost scope], one JSON list a line.

import fs from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const textmate = require("vscode-textmate");
const oniguruma = require("vscode-oniguruma");

const [grammarPath, ...files] = process.argv.slice(2);
await oniguruma.loadWASM(fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
const registry = new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (sources) => new oniguruma.OnigScanner(sources),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async (scope) =>
    scope === "source.tileir" ? textmate.parseRawGrammar(fs.readFileSync(grammarPath, "utf8"), grammarPath) : null,
});
const grammar = await registry.loadGrammar("source.tileir");
for (const file of files) {
  let state = textmate.INITIAL;
  const found = [];
  fs.readFileSync(file, "utf8").split("\n").forEach((line, number) => {
    const result = grammar.tokenizeLine(line, state);
    for (const token of result.tokens) {
      found.push([number, token.startIndex, Math.min(token.endIndex, line.length), token.scopes.at(-1)]);
    }
    state = result.ruleStack;
  });
  console.log(JSON.stringify(found));
}
