import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { joined } = await load("trail.ts");

const calls = (...ids) => ids.map((callId) => ({ callId, hash: `h-${callId}` }));
const ids = (trail) => trail.records.map((r) => r.callId).join(" ");
const read = { filter: "", more: true, records: calls("e", "d", "c", "b", "a"), next: "h-a" };

test("new calls come before the older ones that a person asked for", () => {
  const now = joined(read, { records: calls("f", "e", "d"), next: "h-d" }, "");
  assert.deepEqual([ids(now), now.next, now.more], ["f e d c b a", "h-a", true]);
});

test("an older call that ended now is listed once", () => {
  assert.equal(ids(joined(read, { records: calls("b", "e", "d"), next: "h-d" }, "")), "b e d c a");
});

test("without older calls, with another filter, or after a gap the newest replace them", () => {
  const newest = { records: calls("f", "e", "d"), next: "h-d" };
  for (const [was, filter] of [[{ ...read, more: false }, ""], [read, "q=x"], [{ ...read, records: calls("z") }, ""]]) {
    const now = joined(was, newest, filter);
    assert.deepEqual([ids(now), now.next, now.more, now.filter], ["f e d", "h-d", false, filter]);
  }
});
