// A host on the TypeScript SDK: does one of everything with callgate and prints what came of it as JSON.
//
//	node client.mjs stdio PREFIX COMMAND ARGS…
//	node client.mjs http|sse PREFIX URL        with the token in CALLGATE_TEST_TOKEN
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [kind, prefix, target, ...args] = process.argv.slice(2);
const requestInit = { headers: { Authorization: `Bearer ${process.env.CALLGATE_TEST_TOKEN}` } };
const transports = {
  stdio: () => new StdioClientTransport({ command: target, args, env: process.env }),
  http: () => new StreamableHTTPClientTransport(new URL(target), { requestInit }),
  sse: () => new SSEClientTransport(new URL(target), { requestInit }),
};

const client = new Client({ name: "typescript", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { name: "Ada" } }));
await client.connect(transports[kind]());
const call = async (name, options) => (await client.callTool({ name: prefix + name, arguments: { text: "é" } }, undefined, options)).content[0].text;

const progress = [];
const seen = {
  listed: (await client.listTools()).tools.some((t) => t.name === prefix + "echo"),
  echoed: await call("echo"),
  failed: await call("fail").then(() => null, ({ code, data }) => ({ code, data })),
  worked: await call("progress", { onprogress: (p) => progress.push(p.progress) }),
  progress,
  elicited: JSON.parse(await call("ask_form")).content,
  large: (await call("large")).length,
};
await client.close();
console.log(JSON.stringify(seen));
