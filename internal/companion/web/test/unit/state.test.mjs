import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { apply, initial, needsPerson, pending, find, unseen } = await load("state.ts");

const request = (id, more = {}) =>
  JSON.stringify({
    v: 1, type: "tool_approve_request", sessionId: "s", toolCallId: id, tool: "t", args: { n: 1 }, argsDigest: `d-${id}`, summary: "", always: [],
    risk: { class: "WRITE", label: "medium", category: "" }, reasons: [], ...more,
  });
const resolved = (id, decision, by = "web:a") => JSON.stringify({ v: 1, type: "tool_approve_resolved", sessionId: "s", toolCallId: id, decision, by, reason: "" });
const frame = (text) => ({ type: "frame", text, now: 1 });
const play = (...events) => events.reduce((state, e) => apply(state, typeof e === "string" ? frame(e) : e), { ...initial, connection: "open" });
const ids = (state) => pending(state).map((a) => a.request.toolCallId);

test("the first stays in view while others arrive", () => {
  const state = play(request("a"), request("b"), request("c"));
  assert.deepEqual([state.current, ids(state), state.shown], ["a", ["a", "b", "c"], 1]);
});

test("an own answer makes room for the next, and says that it came up by itself", () => {
  const state = play(request("a"), request("b"), { type: "sent", id: "a", decision: "approve" }, resolved("a", "approve"));
  assert.deepEqual([state.current, state.shown, state.outcomes[0].decision], ["b", 2, "approve"]);
});

test("what somebody else ended stays in view until something arrives", () => {
  let state = play(request("a"), request("b"), resolved("a", "reject", "tui:b"));
  assert.deepEqual([state.current, ids(state), find(state, "a").over.by], ["a", ["b"], "tui:b"]);
  state = apply(state, frame(request("c")));
  assert.deepEqual([state.current, find(state, "a")], ["b", undefined]);
});

test("losing a race shows the answer that won", () => {
  const state = play(request("a"), { type: "sent", id: "a", decision: "approve" }, resolved("a", "reject", "tui:b"));
  assert.equal(find(state, "a").over.decision, "reject");
});

test("a late refusal says nothing about what is over", () => {
  const state = play(request("a"), { type: "sent", id: "a", decision: "approve" }, resolved("a", "reject", "tui:b"), JSON.stringify({ v: 1, type: "error", code: "NOT_PENDING", message: "late", toolCallId: "a" }));
  assert.equal(find(state, "a").refused, "");
});

test("a yes that is not enough is not said to be refused", () => {
  const after = (code) => find(play(request("a"), { type: "sent", id: "a", decision: "approve" }, JSON.stringify({ v: 1, type: "error", code, message: "why", toolCallId: "a" })), "a");
  assert.deepEqual([after("ANOTHER_PERSON").refused, after("BAD_MESSAGE").refused, after("ANOTHER_PERSON").sent], ["why", "Not accepted: why", ""]);
});

test("what the own always released moves on", () => {
  const state = play(request("a"), request("b"), request("c"), { type: "sent", id: "a", decision: "always" }, resolved("a", "always"), resolved("b", "approve", "cascade:web:a"));
  assert.deepEqual([state.current, ids(state)], ["c", ["c"]]);
});

test("a question that is asked again with other arguments has to be looked at again", () => {
  const long = { args: { text: "x\n".repeat(100) } };
  let state = play(request("a", long), { type: "viewed", id: "a" });
  assert.equal(find(state, "a").viewed, true);
  state = apply(state, frame(request("a", long)));
  assert.equal(find(state, "a").viewed, true, "the same after a replay");
  state = apply(state, frame(request("a", { ...long, argsDigest: "other" })));
  assert.deepEqual([find(state, "a").viewed, find(state, "a").changed, state.shown], [false, true, 2]);
});

test("the end of what is of high risk is on the screen before it is approved", () => {
  const risky = { risk: { class: "UNKNOWN", label: "high", category: "" } };
  let state = play(request("a", risky));
  assert.deepEqual([unseen(state.approvals[0]), needsPerson(state.approvals[0]) === ""], ["end", false]);
  state = apply(state, { type: "reached", id: "a" });
  assert.deepEqual([unseen(state.approvals[0]), needsPerson(state.approvals[0])], ["", ""]);
  state = apply(state, frame(request("a", risky)));
  assert.equal(unseen(state.approvals[0]), "", "the same after a replay");
  state = apply(state, frame(request("a", { ...risky, argsDigest: "other" })));
  assert.equal(unseen(state.approvals[0]), "end", "other arguments have another end");
  assert.equal(unseen(play(request("a")).approvals[0]), "", "what is of medium risk is approved at once");
});

test("after a reconnect only what is confirmed waits", () => {
  let state = play(request("a"), request("b"), { type: "lost" }, { type: "opened" });
  assert.ok(pending(state).every((a) => a.stale));
  state = apply(state, frame(request("b")));
  state = apply(state, { type: "pending", ids: ["b"] });
  assert.deepEqual([ids(state), find(state, "a").over.decision, find(state, "b").stale], [["b"], "over", false]);
});

test("who is never in a selection", () => {
  const one = (more) => needsPerson(play(request("a", more)).approvals[0]);
  const risk = (c) => ({ risk: { class: c, label: "", category: "" } });
  assert.equal(one({}), "");
  for (const bad of [risk("DESTRUCTIVE"), risk("ESCALATION"), risk("NEW_CLASS"), { marks: [{ code: "x", text: "" }] }, { presence: true }, { args: "x".repeat(9000) }]) assert.notEqual(one(bad), "", JSON.stringify(bad));
});

test("arguments keep their bytes", () => {
  const text = request("a").replace('{"n":1}', '{"n":1.0e2, "n2":9007199254740993}');
  assert.equal(play(text).approvals[0].raw, '{"n":1.0e2, "n2":9007199254740993}');
});

test("frames of a later server change nothing", () => {
  const state = play(request("a"));
  assert.equal(apply(state, frame('{"v":1,"type":"tomorrow"}')), state);
});
