import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { tokens, offsetOf } = await load("jsonc.ts");
const kinds = (text) => tokens(text).filter((t) => t.kind !== "plain").map((t) => `${t.kind} ${t.text}`);

test("names, actions, other strings and comments are told apart", () => {
  assert.deepEqual(kinds(`{ "read_file": { "*": "allow", "*.env": "deny" }, // "no"\n "x" /* "y" */ : "ask", "$always": [{"tool": "a"}] }`), [
    'name "read_file"', 'name "*"', 'allow "allow"', 'name "*.env"', 'deny "deny"', 'comment // "no"',
    'string "x"', 'comment /* "y" */', 'ask "ask"', 'name "$always"', 'name "tool"', 'string "a"',
  ]);
});

for (const text of ["", "{", '{"a', '"a\\"b": "confirm"', "/", "//", "/* never ends", '"\n"', '{"a": "b\\', "a/b//c\n/d", '"\u202e"']) {
  test(`nothing of ${JSON.stringify(text)} is lost`, () => assert.equal(tokens(text).map((t) => t.text).join(""), text));
}

test("an escaped quote ends no string", () => assert.deepEqual(kinds('"a\\"b": "confirm"'), ['name "a\\"b"', 'confirm "confirm"']));

test("a place is found by line and byte", () => {
  const text = '{\n  "é": "x",\n  "😀": "y"\n}';
  assert.equal(offsetOf(text, 1, 1), 0);
  assert.equal(text.slice(offsetOf(text, 2, 9)).slice(0, 3), '"x"');
  assert.equal(text[offsetOf(text, 3, 11)], '"');
  assert.equal(offsetOf(text, 3, 999), text.indexOf("\n}"), "beyond the line's end is its end");
  assert.equal(offsetOf(text, 99, 1), text.length);
});
