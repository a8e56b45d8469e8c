import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { tokens, word } = await load("shell.ts");
const of = (text, kind) => tokens(text).filter((t) => t.kind === kind).map((t) => t.text);

test("every character is shown once", () => {
  for (const text of ["", "a", "echo 'x", 'echo "a $b" \\\n && c', "a|b;c&d>e<f", "$(x `y`) ${z", "\\", "'", "a#b #c\n# d", "2>&1", "<<EOF\nx\nEOF\n"]) {
    assert.equal(tokens(text).map((t) => t.text).join(""), text);
  }
});

test("commands", () => {
  assert.deepEqual(of("A=1 git push && cd x | tee y; (ls)", "command"), ["git", "cd", "tee", "ls"]);
  assert.deepEqual(of("echo $(rm -r x)", "command"), ["echo", "rm"]);
});

test("strings, operators and comments", () => {
  assert.deepEqual(of(`echo 'a\\' "b\\"c" # end`, "string"), ["'a\\'", '"b\\"c"']);
  assert.deepEqual(of("a 2>&1 >> b", "operator"), ["2>&1", ">>"]);
  assert.deepEqual(of("a#b # c", "comment"), ["# c"]);
});

test("words are quoted when they could be misread", () => {
  assert.deepEqual(["a-b/c.d", "", "a b", 'x"y\\', "a;b"].map(word), ["a-b/c.d", '""', '"a b"', '"x\\"y\\\\"', '"a;b"']);
});
