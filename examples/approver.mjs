// A minimal approver: node examples/approver.mjs [DATA_DIR]   (nothing to install; Node 20 needs --experimental-websocket)
// Shows each call that waits and takes y (approve) or n (reject). An empty line asks again.
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";

const dataDir = process.argv[2] ?? join(homedir(), ".local/share/callgate");
const { address } = JSON.parse(readFileSync(join(dataDir, "companion.json"), "utf8"));
const token = readFileSync(join(dataDir, "credentials", "approve"), "utf8");
const keyboard = createInterface({ input: process.stdin, output: process.stdout });
const socket = new WebSocket(`ws://${address}/ws`, ["callgate.v1", `bearer.${token}`]);
const send = (frame) => socket.send(JSON.stringify({ v: 1, ...frame }));

const waiting = new Map(); // toolCallId → tool_approve_request
let asking = Promise.resolve(); // one question at a time

// Everything in a frame may come from the model: what a terminal would obey is shown as an escape.
const visible = (text) => text.replace(/[^\x20-\x7e]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

async function ask(id) {
  for (let call; (call = waiting.get(id)); ) {
    console.log(visible(`${call.tool} (${call.risk.label}): ${call.summary}`));
    console.log(visible(JSON.stringify(call.args)));
    const answer = (await keyboard.question("y or n? ")).trim();
    if (!["y", "n"].includes(answer) || waiting.get(id) !== call) continue; // gone or changed meanwhile
    waiting.delete(id);
    const { sessionId, argsDigest } = call;
    send({ type: "tool_approve", sessionId, toolCallId: id, argsDigest, decision: answer === "y" ? "approve" : "reject" });
  }
}

socket.onopen = () => send({ type: "hello", client: { name: "example", version: "1", kind: "custom" }, sessions: ["*"] });
socket.onmessage = ({ data }) => {
  const frame = JSON.parse(data);
  if (frame.type === "tool_approve_request") {
    waiting.set(frame.toolCallId, frame);
    asking = asking.then(() => ask(frame.toolCallId));
  } else if (frame.type === "tool_approve_resolved") {
    waiting.delete(frame.toolCallId);
    console.log(visible(`${frame.toolCallId}: ${frame.decision} by ${frame.by}`));
  } else if (frame.type === "error") console.log(visible(`error: ${frame.message}`));
};
socket.onclose = ({ code, reason }) => { console.log(visible(`closed: ${code} ${reason}`)); process.exit(1); };
