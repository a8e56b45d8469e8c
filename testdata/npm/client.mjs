// Hosts on the TypeScript SDK, in its first or second version. Standard input has a list of them as JSON: each has a kind
// of transport, where callgate is, what stands before names of tools, and calls to make. Standard output has what came
// of each.
//
//	node client.mjs 1|2
//	{"kind": "stdio", "command": […], "prefix": "s_", "calls": [{"tool": "echo", "arguments": {}}]}
//	{"kind": "http" | "sse", "url": "…", "token": "…", "prefix": "", "calls": […]}
import * as v1 from "@modelcontextprotocol/sdk/client/index.js";
import * as v1sse from "@modelcontextprotocol/sdk/client/sse.js";
import * as v1stdio from "@modelcontextprotocol/sdk/client/stdio.js";
import * as v1http from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import * as v2 from "@modelcontextprotocol/client";
import * as v2stdio from "@modelcontextprotocol/client/stdio";
import { setTimeout as sleep } from "node:timers/promises";
import { json } from "node:stream/consumers";

const versions = {
  1: {
    ...v1, ...v1sse, ...v1stdio, ...v1http,
    elicitation: ElicitRequestSchema,
    call: (client, params, options) => client.callTool(params, undefined, options),
  },
  2: {
    ...v2, ...v2stdio,
    elicitation: "elicitation/create",
    call: (client, params, options) => client.callTool(params, options),
    options: ({ kind }) => ({ versionNegotiation: { mode: kind === "sse" ? "legacy" : { pin: "2026-07-28" } } }),
  },
};
const sdk = versions[process.argv[2]];

function transport({ kind, command, url, token }) {
  if (kind === "stdio") return new sdk.StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env });
  const Transport = { http: sdk.StreamableHTTPClientTransport, sse: sdk.SSEClientTransport }[kind];
  return new Transport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
}

// listed waits until the tools are there: some servers start slowly.
async function listed(client, names) {
  for (;;) {
    const { tools } = await client.listTools();
    if (names.every((name) => tools.some((t) => t.name === name))) return;
    await sleep(200);
  }
}

async function work(host) {
  const client = new sdk.Client({ name: "typescript", version: "1" }, { capabilities: { elicitation: {} }, ...sdk.options?.(host) });
  client.setRequestHandler(sdk.elicitation, async () => ({ action: "accept", content: { name: "Ada" } }));
  await client.connect(transport(host));
  try {
    await listed(client, host.calls.map(({ tool }) => host.prefix + tool));
    const results = [];
    for (const { tool, arguments: args } of host.calls) {
      const progress = [];
      const call = sdk.call(client, { name: host.prefix + tool, arguments: args }, { onprogress: (p) => progress.push(p.progress) });
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
for (let i = 0; i < hosts.length; i += 9) { // machines have few processors
  outcomes.push(...(await Promise.all(hosts.slice(i, i + 9).map((host) => work(host).catch((e) => ({ failed: String(e) }))))));
}
console.log(JSON.stringify(outcomes));
