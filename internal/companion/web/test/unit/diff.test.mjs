import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { diff, lines } = await load("diff.ts");
const signs = { same: " ", gone: "-", new: "+" };
const patch = (a, b) => diff(a, b).map((l) => signs[l.op] + l.text);

for (const [name, a, b, want] of [
  ["nothing", "", "", []],
  ["the same", "a\nb\n", "a\nb\n", [" a", " b"]],
  ["a line in the middle", "a\nb\nc", "a\nx\nc", [" a", "-b", "+x", " c"]],
  ["a new end", "a\n", "a\nb\n", [" a", "+b"]],
  ["all gone", "a\nb", "", ["-a", "-b"]],
  ["moved", "a\nb\nc", "b\nc\na", ["-a", " b", " c", "+a"]],
  ["blank lines", "a\n\nb", "a\n\n\nb", [" a", " ", "+", " b"]],
]) {
  test(name, () => assert.deepEqual(patch(a, b), want));
}

test("a difference holds both texts", () => {
  let state = 7;
  const random = (n) => (state = (state * 1103515245 + 12345) % 2147483648) % n;
  for (let i = 0; i < 500; i++) {
    const [a, b] = [0, 1].map(() => Array.from({ length: random(12) }, () => "abc"[random(3)]).join("\n"));
    const d = diff(a, b);
    assert.deepEqual(d.filter((l) => l.op !== "new").map((l) => l.text), lines(a));
    assert.deepEqual(d.filter((l) => l.op !== "gone").map((l) => l.text), lines(b));
  }
});

test("very long texts are shown without looking for what stayed", () => {
  const a = Array.from({ length: 3000 }, (_, i) => `a${i}`).join("\n");
  const b = Array.from({ length: 3000 }, (_, i) => `b${i}`).join("\n");
  assert.equal(diff(a, b).length, 6000);
});

const { rows } = await load("diff.ts");
const laid = (a, b, around) => rows(diff(a, b), around).map((r) => ("gap" in r ? `… ${r.gap}` : `${r.line.op === "gone" ? r.before : r.after}${signs[r.line.op]}${r.line.text}`));

test("what is far from a change is one gap, and lines have their numbers", () => {
  const a = Array.from({ length: 12 }, (_, i) => `l${i + 1}`).join("\n");
  assert.deepEqual(laid(a, a.replace("l6", "L6").replace("l12", "L12"), 1), ["… 4", "5 l5", "6-l6", "6+L6", "7 l7", "… 3", "11 l11", "12-l12", "12+L12"]);
  assert.deepEqual(laid(a, a), ["… 12"]);
  assert.equal(rows(diff(a, "x"), Infinity).length, 13);
});

test("what is different in a line is marked when most of it stayed", () => {
  const marked = (a, b) => rows(diff(a, b)).map((r) => r.changed && [...r.line.text].slice(...r.changed).join(""));
  assert.deepEqual(marked("port = 8080;", "port = 9090;"), ["808", "909"]);
  assert.deepEqual(marked("a😀b tail of it", "a😁b tail of it"), ["😀", "😁"], "characters are not cut in two");
  assert.deepEqual(marked("nothing alike", "quite other ==="), [undefined, undefined]);
  assert.deepEqual(marked("same\nold one", "same\nold two\nmore"), [undefined, undefined, undefined, undefined], "lines that do not replace each other one by one");
});
