// Brings one tool of its own into every session: node examples/tools-client.mjs [DATA_DIR]   (nothing to install; Node 20
// needs --experimental-websocket). The host sees desk_clock; each call of it passes the gate first and then runs here.
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const dataDir = process.argv[2] ?? join(homedir(), ".local/share/callgate");
const { address } = JSON.parse(readFileSync(join(dataDir, "companion.json"), "utf8"));
const token = readFileSync(join(dataDir, "credentials", "tools"), "utf8");
const socket = new WebSocket(`ws://${address}/ws`, ["callgate.v1", `bearer.${token}`]);
const send = (frame) => socket.send(JSON.stringify({ v: 1, ...frame }));

const inputSchema = { type: "object", properties: { timeZone: { type: "string", description: "as in Europe/Oslo" } } };
const clock = { server: "desk", name: "clock", description: "Tells the time on the user's desk.", inputSchema };

function run({ timeZone = "UTC" }) {
  return new Date().toLocaleString("en-GB", { timeZone, timeZoneName: "short" }); // throws for a zone that there is not
}

const known = new Set(); // sessions that have the tool

socket.onopen = () => send({ type: "hello", client: { name: "desk", version: "1", kind: "custom" }, sessions: ["*"] });
socket.onmessage = ({ data }) => {
  const { type, sessionId, toolCallId, args, agents, message } = JSON.parse(data);
  if (type === "team_update" && agents.length === 0) known.delete(sessionId); // the session has ended
  else if (type === "team_update" && !known.has(sessionId)) {
    known.add(sessionId);
    send({ type: "mcp_tools", sessionId, tools: [clock] });
  } else if (type === "mcp_call") {
    try {
      send({ type: "mcp_result", sessionId, toolCallId, result: { content: [{ type: "text", text: run(args) }] } });
    } catch (error) {
      send({ type: "mcp_result", sessionId, toolCallId, error: error.message });
    }
  } else if (type === "error") console.error(`error: ${JSON.stringify(message)}`);
};
socket.onclose = ({ code, reason }) => { console.error(`closed: ${code} ${JSON.stringify(reason)}`); process.exit(1); };
