// A host of 2026-07-28 on the official package for the extension for tasks, over Streamable HTTP. The argument says as JSON
// where the server is, and which calls to make. Standard output has what came of each: the text of its result or the
// error, and the requests that it took, each once.
//
//	{"url": "…", "token": "…", "calls": [{"tool": "greet", "arguments": {}, "cancel": true}]}
import { createApplicationInputHandler, resultFromTaskOutcome, withTasks } from "@modelcontextprotocol/ext-tasks/client";

const { url, token, calls } = JSON.parse(process.argv[2]);
const about = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "extension", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } },
};
let requests = 0;
let took = new Set();

// dispatch sends one request and waits for its response.
async function dispatch({ method, params }, { signal, context } = {}) {
  const id = ++requests;
  const headers = new Headers({
    "Content-Type": "application/json", Accept: "application/json, text/event-stream", Authorization: `Bearer ${token}`,
    "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, ...context?.headers,
  });
  if (params.name ?? params.taskId) headers.set("Mcp-Name", params.name ?? params.taskId);
  const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: { ...params._meta, ...about } } });
  const response = await fetch(url, { method: "POST", headers, body, signal });
  for (const line of (await response.text()).split("\n")) {
    const text = line.startsWith("data: ") ? line.slice(6) : line;
    const message = text.startsWith("{") ? JSON.parse(text) : {};
    if (message.id !== id) continue;
    took.add(`${method} ${message.error ? "error" : (message.result.status ?? message.result.resultType)}`);
    return message.error ? { kind: "error", error: message.error } : { kind: "result", result: message.result };
  }
  throw new Error(`${method}: HTTP ${response.status} without a response`);
}

const nobody = () => () => {};
const port = {
  endpointId: url, invalidated: false, taskCapabilities: { generation: "v2", capabilities: {} },
  dispatch, onServerRequest: nobody, onNotification: nobody, onInvalidated: nobody,
};
const session = withTasks(port, {
  onInputRequest: createApplicationInputHandler({
    elicitation: () => ({ action: "accept", content: { confirm: true, name: "Ada" } }),
    sampling: () => { throw new Error("nobody asked for sampling"); },
    roots: () => { throw new Error("nobody asked for roots"); },
  }),
});
const outcomes = [];
for (const { tool, arguments: args, cancel } of calls) {
  took = new Set();
  try {
    const execution = await session.callTool(tool, args, { declaration: { name: tool } });
    if (cancel) setTimeout(() => execution.cancel(), 300);
    const { outcome } = await execution.settle();
    outcomes.push(cancel ? { said: outcome.status } : { said: resultFromTaskOutcome(outcome).content.map((c) => c.text).join("\n"), took: [...took] });
  } catch (e) {
    outcomes.push({ said: `error: ${e.message}`, took: [...took] });
  }
}
console.log(JSON.stringify(outcomes));
process.exit(0);
