// Prints picomatch's answers for seeded pseudo-random patterns and values, one JSON object per line.
//
//   PICOMATCH_DIR=…/node_modules/picomatch node testdata/picomatch.mjs > testdata/picomatch.jsonl
//
// The grammar leaves out what Glob intentionally reads differently. The comment on Glob lists that, and
// TestGlobDepartures tests it.

import { createRequire } from "node:module";
import { resolve } from "node:path";

const picomatch = createRequire(import.meta.url)(resolve(process.env.PICOMATCH_DIR));
const options = { dot: true, bash: true };

let state = 20261120;
function random(n) {
  // mulberry32
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) % n;
}
const pick = (list) => list[random(list.length)];
const several = (min, max, make) => Array.from({ length: min + random(max - min + 1) }, make);

const words = ["a", "b", "ab", "env", ".env", "src", "git", "x.y", "1", "2", "é", "-f", "A"];
const word = () => pick(words);

// The alternatives of a group are plain texts, none a prefix of another: picomatch reads other repeated groups
// as literal text if they could be slow.
const plain = () => several(1, 2, word).join("");
function list(separator) {
  const parts = several(2, 3, plain);
  const overlap = parts.some((a, i) => parts.some((b, j) => i !== j && b.startsWith(a)));
  return overlap ? list(separator) : parts.join(separator);
}

const atoms = [
  [8, word],
  [4, () => "/"],
  [3, () => "."],
  [2, () => " "],
  [6, () => "*"],
  [2, () => "?"],
  [2, () => pick(["[a-c]", "[ab]", "[^ab]", "[^a-c]", "[[:alpha:]]", "[[:digit:]_]", "[0-9a]", "[]a]", "[.e]"])],
  [2, () => `{${list(",")}}`],
  [1, () => pick(["{1..3}", "{a..c}", "{a}", "{b,{a,1}}", "{,a}"])],
  [1, () => `@(${list("|")})`],
  [1, () => `+(${list("|")})`],
  [1, () => `?(${list("|")})`],
  [1, () => `*(${list("|")})`],
  [1, () => pick(["\\*", "\\?", "\\[", "\\{", "\\}", "\\(", "\\)", "\\!", "\\+", "\\@"])],
];
const weighted = atoms.flatMap(([n, make]) => Array(n).fill(make));
const atom = () => pick(weighted)();

const shapes = [
  () => several(1, 5, atom).join(""),
  () => several(1, 3, atom).join(""),
  () => "**/" + several(1, 2, word).join(""),
  () => plain() + "/**",
  () => plain() + "/**/" + plain(),
  () => "*" + pick([".env", ".env.*", "secret*", ".example"]),
  () => pick(["", "src/", "git "]) + `!(${list("|")})`,
  () => "!" + plain() + pick(["", "*", "/*"]),
];

// A value that the pattern is likely to match, then changed a little.
function valueFor(pattern) {
  let value = "";
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i];
    if (c === "\\") value += pattern[++i] ?? "";
    else if (c === "*") value += pick(["", "a", "a/b", "x.y", ".env", "a b"]);
    else if (c === "?") value += pick(["a", ".", "é", "/", ""]);
    else if (c === "[") {
      const end = pattern.indexOf("]", i + 2);
      value += pick(["a", "b", "1", "_", "]", "/"]);
      i = end < 0 ? pattern.length : end;
      if (pattern[i + 1] === "]") i++;
    } else if ("{(".includes(c)) {
      const end = pattern.indexOf(c === "{" ? "}" : ")", i);
      const inner = pattern.slice(i + 1, end < 0 ? undefined : end);
      value += pick(inner.split(/[|,]|\.\./));
      i = end < 0 ? pattern.length : end;
    } else if (!"@+!}".includes(c)) value += c;
  }
  switch (random(6)) {
    case 0: return value + pick(words);
    case 1: return pick(words) + value;
    case 2: return value.slice(1);
    case 3: return value.slice(0, -1);
    default: return value;
  }
}

// What Glob refuses, or intentionally reads differently.
const ownSyntax = (p) => /^\.\/|\)\?|^\*\.\*$|\\$|\\[a-zA-Z0-9]/.test(p);
const ownValue = (p, v) =>
  v === "" || v === p || /(^|\/)\.{1,2}(\/|$)/.test(v) || v.endsWith("/") || / \*$/.test(p);

const wanted = Number(process.env.ROWS ?? 3000);
const seen = new Set();
while (seen.size < wanted) {
  const pattern = pick(shapes)();
  const value = random(8) ? valueFor(pattern) : several(1, 3, word).join(pick(["", "/", " "]));
  if (ownSyntax(pattern) || ownValue(pattern, value)) continue;
  const row = JSON.stringify({ pattern, value, match: picomatch(pattern, options)(value) });
  if (seen.has(row)) continue;
  seen.add(row);
  console.log(row);
}
