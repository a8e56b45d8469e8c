import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { parse, format, rawMember, member, text } = await load("json.ts");

test("numbers, order and names keep their spelling", () => {
  const source = `{"b": 1.0e2, "a": [9007199254740993, -0.50, true, null], "__proto__": {"x": ""}, "e": {}, "l": []}`;
  assert.equal(
    format(parse(source)),
    `{\n  "b": 1.0e2,\n  "a": [\n    9007199254740993,\n    -0.50,\n    true,\n    null\n  ],\n  "__proto__": {\n    "x": ""\n  },\n  "e": {},\n  "l": []\n}`,
  );
});

test("what cannot be seen is escaped when it is edited, and comes back the same", () => {
  const value = 'a"\\\n\t\u202e\u200b\u00ad\ud800é漢😀\u0301';
  const written = format(parse(JSON.stringify({ value })));
  assert.ok(!/[^\x20-\x7e\né漢😀]/u.test(written), written);
  assert.equal(text(member(parse(written), "value")), value);
});

test("a member's text is found as it stands", () => {
  assert.equal(rawMember(`{"x": "}\\"{", "args" : {"n":1.0 , "s":"\\u0041"} , "y":2}`, "args"), `{"n":1.0 , "s":"\\u0041"}`);
  assert.equal(rawMember(`{"inner":{"args":1}}`, "args"), undefined);
});

for (const bad of ["", "{", "[1,]", "{,}", '{"a" 1}', "{'a':1}", "01", "1.", "+1", "NaN", '"\n"', '"\\x"', '"abc', '"abc\\', "tru", "{} x", '{"a":1,}', "[".repeat(600)]) {
  test(`refuses ${JSON.stringify(bad.slice(0, 20))}`, () => assert.throws(() => parse(bad), SyntaxError));
}

test("says where it stopped", () => assert.throws(() => parse(`{\n  "a": x}`), /line 2, column 8/));

test("agrees with JSON.parse", () => {
  const alphabet = [..."{}[]\":,0123.eE+-tfn \\u", "true", "null", '"a"', '"\\u0041"'];
  let state = 42;
  const random = (n) => (state = (state * 1103515245 + 12345) % 2147483648) % n;
  for (let i = 0; i < 20000; i++) {
    const candidate = Array.from({ length: 1 + random(8) }, () => alphabet[random(alphabet.length)]).join("");
    let expected = true;
    try {
      JSON.parse(candidate);
    } catch {
      expected = false;
    }
    let found = true;
    try {
      parse(candidate);
    } catch {
      found = false;
    }
    assert.equal(found, expected, candidate);
  }
});

test("long texts are read in good time", () => {
  const long = JSON.stringify({ a: "x\\\"".repeat(500_000) });
  assert.equal(text(member(parse(long), "a")).length, 1_500_000);
  assert.throws(() => parse(long.slice(0, -2)), SyntaxError);
});
