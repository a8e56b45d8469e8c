// A host on the TypeScript SDK that carries out as tasks what servers ask of it. The argument says as JSON where the server
// is, what stands before names of tools, and which to call. Standard output has, as JSON, the text of each result and what
// became of the host's tasks.
//
//	{"command": […] | "kind": "http" | "sse", "url": "…", "token": "…", "prefix": "s_", "calls": ["tool"]}
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { CreateMessageRequestSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { setTimeout as sleep } from "node:timers/promises";

const { command, kind, url, token, prefix, calls } = JSON.parse(process.argv[2]);
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const transport =
  kind === "http" ? new StreamableHTTPClientTransport(new URL(url), { requestInit })
  : kind === "sse" ? new SSEClientTransport(new URL(url), { requestInit })
  : new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env });
const taskStore = new InMemoryTaskStore();
const client = new Client({ name: "receiver", version: "1" }, {
  taskStore,
  capabilities: {
    sampling: {},
    elicitation: {},
    tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
  },
});

// later answers a request with a task that has the result after a moment.
const asked = [];
const later = (result) => async (request, extra) => {
  asked.push({ method: request.method, task: request.params.task ?? null });
  if (!request.params.task) return result;
  const task = await extra.taskStore.createTask({ ttl: request.params.task.ttl, pollInterval: 100 });
  sleep(300).then(() => extra.taskStore.storeTaskResult(task.taskId, "completed", result));
  return { task };
};
client.setRequestHandler(CreateMessageRequestSchema, later({ role: "assistant", model: "none", content: { type: "text", text: "sampled" } }));
client.setRequestHandler(ElicitRequestSchema, later({ action: "accept", content: { name: "Ada" } }));

await client.connect(transport);
for (;;) {
  const { tools } = await client.listTools();
  if (calls.every((name) => tools.some((t) => t.name === prefix + name))) break;
  await sleep(100);
}
const texts = [];
for (const name of calls) {
  const { content } = await client.callTool({ name: prefix + name, arguments: { prompt: "p" } }, undefined, { timeout: 300_000 });
  texts.push(content.map((c) => c.text).join("\n"));
}
const { tasks } = await taskStore.listTasks();
console.log(JSON.stringify({ texts, asked, ids: tasks.map((t) => t.taskId), states: tasks.map((t) => t.status) }));
await client.close();
process.exit(0);
