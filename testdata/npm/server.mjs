// A server on the TypeScript SDK v2 with the tools echo, fail, progress, large and ask_form of
// internal/testserver/features, in every revision that the SDK speaks.
//
//	node server.mjs          over standard input and output
//	PORT=3001 node server.mjs http
import { createMcpHandler, inputRequired, inputResponse, ProtocolError, Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const text = (text) => ({ content: [{ type: "text", text }] });

const tools = {
  echo: ({ params }) => text(JSON.stringify(params.arguments)),
  fail: () => {
    throw new ProtocolError(-32055, "it fails", { why: "asked to" });
  },
  large: () => text("0123456789abcdef".repeat((2 << 20) / 16)),
  progress: async ({ params }, { mcpReq }) => {
    for (let progress = 1; progress <= 3; progress++) {
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken: params._meta.progressToken, progress, total: 3 } });
      await sleep(100); // some clients drop what arrives in one piece with the result
    }
    return text("done");
  },
  ask_form: (_, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "q");
    if (answer.kind === "elicit") return text(JSON.stringify(answer));
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    return inputRequired({ inputRequests: { q: inputRequired.elicit({ message: "Who?", requestedSchema }) } });
  },
};

function server() {
  const s = new Server({ name: "features", version: "1" }, { capabilities: { tools: {} } });
  s.setRequestHandler("tools/list", () => ({
    tools: Object.keys(tools).map((name) => ({ name, description: `has to do with ${name}`, inputSchema: { type: "object" } })),
  }));
  s.setRequestHandler("tools/call", (request, context) => tools[request.params.name](request, context));
  return s;
}

if (process.argv[2] === "http") createServer(toNodeHandler(createMcpHandler(server))).listen(Number(process.env.PORT), "127.0.0.1");
else serveStdio(server);
