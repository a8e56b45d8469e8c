// Hosts on the TypeScript SDK. Standard input has a list of them as JSON: each has a kind of transport, where callgate
// is, what stands before names of tools, and calls to make. Standard output has what came of each.
//
//	{"kind": "stdio", "command": […], "prefix": "s_", "calls": [{"tool": "echo", "arguments": {}}]}
//	{"kind": "http" | "sse", "url": "…", "token": "…", "prefix": "", "calls": […]}
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { setTimeout as sleep } from "node:timers/promises";
import { json } from "node:stream/consumers";

const transports = {
  stdio: ({ command: [command, ...args] }) => new StdioClientTransport({ command, args, env: process.env }),
  http: ({ url, token }) => new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }),
  sse: ({ url, token }) => new SSEClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }),
};

// listed waits until the tools are there: some servers start slowly.
async function listed(client, names) {
  for (;;) {
    const { tools } = await client.listTools();
    if (names.every((name) => tools.some((t) => t.name === name))) return;
    await sleep(200);
  }
}

async function work(host) {
  const client = new Client({ name: "typescript", version: "1" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { name: "Ada" } }));
  await client.connect(transports[host.kind](host));
  try {
    await listed(client, host.calls.map(({ tool }) => host.prefix + tool));
    const results = [];
    for (const { tool, arguments: args } of host.calls) {
      const progress = [];
      const call = client.callTool({ name: host.prefix + tool, arguments: args }, undefined, { onprogress: (p) => progress.push(p.progress) });
      results.push(
        await call.then(
          ({ content }) => ({ content: JSON.stringify(content), progress }),
          ({ code, data, message }) => ({ error: message, code, data, progress }),
        ),
      );
    }
    return { results };
  } finally {
    await client.close();
  }
}

const hosts = await json(process.stdin);
const outcomes = [];
for (let i = 0; i < hosts.length; i += 7) { // machines have few processors
  outcomes.push(...(await Promise.all(hosts.slice(i, i + 7).map((host) => work(host).catch((e) => ({ failed: String(e) }))))));
}
console.log(JSON.stringify(outcomes));
