import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { yaml } = await load("yaml.ts");

test("labels for callgate.yaml", () => {
  assert.equal(
    yaml("bank", "send_money", { effect: "money", returns: [], destination: ["recipient"], content: ["subject", 'a"b'] }),
    'servers:\n  - name: "bank"\n    tools:\n      - name: "send_money"\n        effect: money\n        destination: ["recipient"]\n        content: ["subject", "a\\"b"]\n',
  );
  assert.ok(yaml("x", "a\nb: {}", { effect: "none" }).includes('- name: "a\\nb: {}"'));
});
