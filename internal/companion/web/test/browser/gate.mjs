// A callgate with the demo server behind it, and this script in the place of its host.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { within } from "./within.mjs";

const { CALLGATE, DEMO, AWKWARD } = process.env;

const rules = `{ "*": "ask", "read_file": { "*": "allow", "*.env": "deny" }, "write_file": "ask", "edit_file": "ask", "shell_exec": "ask" }`;

export class Gate {
  #next = 1;
  #waiting = new Map();
  log = "";

  // start makes a workspace and a data directory and shakes hands. client is what the host calls itself; awkward adds
  // a server whose definitions change; config is further text of the configuration; beside is another gate whose data
  // directory this one shares.
  static async start({ client = "Test Host", flags = [], awkward = false, config: more = "", beside } = {}) {
    const gate = new Gate();
    gate.dir = mkdtempSync(join(tmpdir(), "callgate-page-"));
    gate.data = beside?.data ?? join(gate.dir, "data");
    gate.rules = join(gate.data, "workers", "default", "permissions.jsonc");
    gate.workspace = join(gate.dir, "workspace");
    mkdirSync(join(gate.data, "workers", "default"), { recursive: true, mode: 0o700 });
    if (!beside) writeFileSync(gate.rules, rules, { mode: 0o600 });
    mkdirSync(join(gate.workspace, "build"), { recursive: true });
    writeFileSync(join(gate.workspace, "README.md"), "# Sample\n");
    const config = join(gate.dir, "callgate.yaml");
    const second = awkward ? `  - name: awkward\n    command: ${JSON.stringify(AWKWARD)}\n` : "";
    writeFileSync(config, `servers:\n  - name: demo\n    command: ${JSON.stringify(DEMO)}\n    args: ["."]\n${second}${more}`);
    // Calls wait for an answer as long as a slow machine takes.
    const args = ["run", "--config", config, "--data-dir", gate.data, "--listen", "127.0.0.1:0", "--timeout=9m", "--hand-over=-1s", ...flags];
    gate.process = spawn(CALLGATE, args, { cwd: gate.workspace, stdio: ["pipe", "pipe", "pipe"] });
    gate.process.stderr.on("data", (chunk) => (gate.log += chunk));
    gate.exited = once(gate.process, "exit");
    const lines = createInterface({ input: gate.process.stdout });
    lines.on("line", (line) => gate.#take(JSON.parse(line)));
    const over = () => gate.#waiting.forEach(({ reject }) => reject(new Error("callgate ended")));
    lines.on("close", over);
    gate.process.stdin.on("error", over);
    await gate.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: client, version: "1.0" } });
    gate.#send({ method: "notifications/initialized" });
    await gate.request("tools/list", {});
    return gate;
  }

  #send(message) {
    this.process.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }

  #take(message) {
    if (message.method === undefined) {
      this.#waiting.get(message.id)?.resolve(message);
      this.#waiting.delete(message.id);
    } else if (message.id !== undefined) {
      this.#send({ id: message.id, error: { code: -32601, message: "this host offers nothing" } });
    }
  }

  request(method, params) {
    return this.#ask(method, JSON.stringify(params));
  }

  #ask(method, params) {
    const id = this.#next++;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.process.stdin.write(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}\n`);
    return within(`the answer to ${method} ${params.slice(0, 200)}`, answer, 1_000_000); // a person takes several steps
  }

  // call makes a tools/call and returns its text and whether it is an error, once it is answered. args may be JSON
  // text, whose spelling is kept.
  call(tool, args) {
    const text = typeof args === "string" ? args : JSON.stringify(args);
    const outcome = this.#ask("tools/call", `{"name":"${tool}","arguments":${text}}`).then(({ result, error }) => {
      if (error) throw new Error(JSON.stringify(error));
      return { text: result.content.map((c) => c.text).join("\n"), isError: result.isError === true };
    });
    outcome.catch(() => {}); // a test that failed before does not take it
    return outcome;
  }

  // cancel takes the last call back.
  cancel() {
    this.#send({ method: "notifications/cancelled", params: { requestId: this.#next - 1 } });
  }

  shell(command) {
    return this.call("demo_shell_exec", { command });
  }

  // page returns an address with a fresh code, as a person gets it.
  page(...flags) {
    return execFileSync(CALLGATE, ["open", "--print", "--data-dir", this.data, ...flags], { encoding: "utf8" }).trim();
  }

  // audit is the trail, oldest first.
  audit() {
    const lines = execFileSync(CALLGATE, ["audit", "--json", "--tail", "0", "--data-dir", this.data], { encoding: "utf8" }).trim();
    return lines.split("\n").map((line) => JSON.parse(line));
  }

  get address() {
    return JSON.parse(readFileSync(join(this.data, "companion.json"), "utf8")).address;
  }

  credential(name) {
    return readFileSync(join(this.data, "credentials", name), "utf8");
  }

  // end stops callgate the way a host does.
  async end() {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.stdin.end();
    await this.exited;
  }

  async close() {
    await this.end();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
