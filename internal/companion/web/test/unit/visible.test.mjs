import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { visible, pieces, split, exactText } = await load("visible.ts");

// The same cases as the terminal's, which gate/tools shows.
for (const [input, want] of [
  ["", ""],
  ["plain <b>text</b> & more", "plain <b>text</b> & more"],
  ["größe 漢字 עברית 😀", "größe 漢字 עברית 😀"],
  ["a\u202eb", "a⟨U+202E⟩b"],
  ["a\u2066b\u2069", "a⟨U+2066⟩b⟨U+2069⟩"],
  ["a\u200b\u200c\u200d\ufeffb", "a⟨U+200B⟩⟨U+200C⟩⟨U+200D⟩⟨U+FEFF⟩b"],
  ["\x00\x07\x1b[31m\x7f\u0085", "⟨U+0000⟩⟨U+0007⟩⟨U+001B⟩[31m⟨U+007F⟩⟨U+0085⟩"],
  ["a\nb\tc\r", "a⟨U+000A⟩b⟨U+0009⟩c⟨U+000D⟩"],
  ["no\u00a0break\u3000wide\u2028line", "no⟨U+00A0⟩break⟨U+3000⟩wide⟨U+2028⟩line"],
  ["soft\u00adhyphen\u034f\u115f\u3164\u2800", "soft⟨U+00AD⟩hyphen⟨U+034F⟩⟨U+115F⟩⟨U+3164⟩⟨U+2800⟩"],
  ["tag\u{e0041}", "tag⟨U+E0041⟩"],
  ["heart\u2764\ufe0f", "heart\u2764⟨U+FE0F⟩"],
  ["half\ud800pair", "half⟨U+D800⟩pair"],
  ["private\ue000", "private⟨U+E000⟩"],
  ["e\u0301\u0301\u0301\u0301\u0301\u0301", "e\u0301\u0301\u0301\u0301⟨U+0301⟩⟨U+0301⟩"],
]) {
  test(JSON.stringify(input), () => assert.equal(visible(input), want));
}

test("text that only looks like an escape is not marked as one", () => {
  assert.deepEqual(pieces("⟨U+202E⟩"), [{ text: "⟨U+202E⟩", hidden: false }]);
});

// What marks quote of the arguments is set off wherever it stands.
test("quotes in a text", () => {
  const parts = (text, ...quotes) => split(text, quotes).map(({ text, quote }) => (quote ? `[${text}]` : text)).join("");
  assert.equal(parts("to Eve@evil.example, eve@evil.example", "eve@evil.example"), "to [Eve@evil.example], [eve@evil.example]");
  assert.equal(parts("ab abc", "ab", "abc"), "[ab] [abc]");
  assert.equal(parts("nothing", "other", ""), "nothing");
  assert.equal(parts("", "x"), "");
  assert.equal(parts("İ eve", "eve"), "İ eve"); // its lower case has another length: nothing is cut wrongly
});

for (const [pattern, want] of [
  ["git push *", undefined],
  ["git push", undefined],
  [String.raw`\{\"a\":\"x\*\",\"n\":\[1\]\}`, `{"a":"x*","n":[1]}`],
  [String.raw`topic=a \"b\" \[c\]\=\?`, `topic=a "b" [c]=?`],
  [String.raw`\{\"a\":*\}`, undefined],
  [String.raw`a\[b(c)`, undefined],
  [String.raw`~/a\*`, undefined],
  ["a\\", undefined],
]) {
  test(`the exact text of ${pattern}`, () => assert.equal(exactText(pattern), want));
}
