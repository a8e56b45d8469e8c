// Passkeys, from Chromium's own authenticator, against a real callgate.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { browser, quiet, ready, visit } from "./browser.mjs";
import { Gate } from "./gate.mjs";
import { story } from "./story.mjs";
import { within } from "./within.mjs";

after(() => browser.close());

const { CALLGATE } = process.env;

// key plugs an authenticator into the page's browser. It answers by itself as long as a person is there.
async function key(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  const options = { protocol: "ctap2", transport: "usb", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", { options });
  return { cdp, authenticatorId };
}

// go opens a view by its address: tabs move while the page finds out what there is.
const go = (page, view) => page.evaluate((hash) => void (location.hash = hash), `#/${view}`);

// add registers a passkey on the page.
async function add(gate, page, name) {
  const printed = execFileSync(CALLGATE, ["passkeys", "add", "--print", "--data-dir", gate.data], { encoding: "utf8" });
  const code = /^Code: (\S+)$/m.exec(printed)[1];
  await go(page, "passkeys");
  await page.getByLabel("Code").fill(code);
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Add passkey" }).click();
  await page.locator(".passkeys .name", { hasText: name }).waitFor();
  await go(page, "approvals");
  return code;
}

// rest answers as a program with the stolen credential does.
async function rest(gate, method, path, body, more = {}) {
  const headers = { Authorization: `Bearer ${gate.credential("approve")}`, "Content-Type": "application/json", ...more };
  const response = await fetch(`http://${gate.address}${path}`, { method, headers, body: body && JSON.stringify(body) });
  return { status: response.status, ...(await response.json()) };
}

const waiting = async (gate) => (await rest(gate, "GET", "/api/approvals")).approvals[0];
const verify = (gate) => spawnSync(CALLGATE, ["audit", "verify", "--data-dir", gate.data], { encoding: "utf8" });
const approve = async (page) => {
  await page.waitForTimeout(quiet);
  await page.getByRole("button", { name: "Approve once" }).click();
};
const presence = (needs) => ({ config: `approvers:\n  presence: ${needs}\n` });

story(
  "a yes by passkey, and none without",
  async (gate, page) => {
    assert.equal(new URL(page.url()).hostname, "localhost");
    await page.locator(".banner", { hasText: "callgate passkeys add" }).waitFor();
    await key(page);
    const code = await add(gate, page, "blue key");
    await go(page, "passkeys");
    await page.getByLabel("Code").fill(code);
    await page.getByLabel("Name").fill("again");
    await page.getByRole("button", { name: "Add passkey" }).click();
    await page.locator(".note.refused", { hasText: "registered already" }).waitFor();
    await go(page, "approvals");

    const call = gate.shell("echo with a passkey > out.txt && cat out.txt");
    await ready(page);
    const { toolCallId, sessionId, argsDigest } = await waiting(gate);
    // Whoever has the credential alone gets no yes, by no way, nor a looser gate.
    const yes = { decision: "approve", argsDigest };
    for (const more of [{}, { "Callgate-Page": `http://localhost:${new URL(page.url()).port}` }, { "Callgate-Presence": btoa("{}") }, { "Callgate-Presence": "%" }]) {
      const answer = await rest(gate, "POST", `/api/approvals/${toolCallId}`, yes, more);
      assert.ok(answer.status === 403 || answer.status === 400, JSON.stringify(answer));
    }
    const refused = await rest(gate, "POST", `/api/approvals/${toolCallId}`, yes);
    assert.equal(refused.error.code, "PRESENCE");
    assert.ok(refused.error.message.includes(`http://localhost:${new URL(page.url()).port}/`), refused.error.message);
    for (const [method, path, body] of [
      ["PUT", `/api/sessions/${sessionId}/autonomy`, { level: "FULL_AUTO" }],
      ["PUT", "/api/rules", { base: "", text: "{}" }],
      ["POST", "/api/tools/accept", {}],
      ["PUT", "/api/hooks/x", { enabled: false }],
      ["POST", `/api/sessions/${sessionId}/agents`, { role: "x" }],
      ["DELETE", "/api/freeze", {}],
      ["DELETE", "/api/presence/keys/x", undefined],
    ]) {
      const answer = await rest(gate, method, path, body);
      assert.equal(answer.error?.code, "PRESENCE", `${method} ${path}: ${JSON.stringify(answer)}`);
    }
    const stolen = await rest(gate, "POST", "/api/presence/keys", { code: "AAAA-AAAA-AAAA-AAAA", id: "x", name: "x", public: "" });
    assert.equal(stolen.error?.code, "BAD_MESSAGE");
    const frame = JSON.stringify({ v: 1, type: "tool_approve", sessionId, toolCallId, ...yes });
    const client = spawn(CALLGATE, ["approve", "--json", "--data-dir", gate.data]);
    try {
      client.stdin.write(`${frame}\n`);
      const refusal = async () => {
        for await (const line of createInterface({ input: client.stdout })) if (line.includes('"error"')) return line;
      };
      const line = await within("a refusal for callgate approve", refusal());
      assert.match(line, /needs your passkey: answer on the page http:\/\/localhost:/);
      assert.match(line, /"code":"PRESENCE"/);
    } finally {
      client.kill(); // it would outlive a failure, and this process would wait for it
    }

    await approve(page);
    assert.deepEqual(await call, { text: "with a passkey\n", isError: false });
    const record = gate.audit().find((r) => r.callId === toolCallId && r.decision === "approved");
    assert.equal(record.presence.statement.digest, argsDigest);
    assert.equal(record.presence.key.name, "blue key");
    const verified = verify(gate);
    assert.equal(verified.status, 0, verified.stdout);
    assert.match(verified.stdout, /2 signatures of a passkey/);
  },
  presence("always"),
);

story(
  "edited arguments, always, autonomy and several keys",
  async (gate, page) => {
    const first = await key(page);
    await add(gate, page, "first");
    await first.cdp.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId: first.authenticatorId });
    await key(page);
    await add(gate, page, "second");

    const edited = gate.shell("echo one");
    await ready(page);
    await page.keyboard.press("e");
    const box = page.locator("textarea");
    await box.fill('{"command": "echo two"}');
    await page.waitForTimeout(quiet);
    await page.getByRole("button", { name: /^Approve/ }).last().click();
    assert.match((await edited).text, /two/);

    const always = gate.shell("mkdir -p build/one");
    await ready(page);
    await page.waitForTimeout(quiet);
    await page.keyboard.press("a");
    await page.getByRole("form", { name: "Always allow" }).getByRole("button", { name: "Approve and always allow" }).click();
    assert.equal((await always).isError, false);

    await go(page, "sessions");
    await page.getByLabel("Autonomy").selectOption("CAUTIOUS");
    await page.getByRole("button", { name: "Set CAUTIOUS" }).click();
    await page.waitForFunction(() => !document.querySelector(".card form button") && document.querySelector(".card select")?.value === "CAUTIOUS");
    assert.ok(gate.audit().some((r) => r.presence?.statement.act.startsWith("PUT /api/sessions/")));

    // A lost key is removed with another one; on the command line with none.
    await go(page, "passkeys");
    await page.locator(".passkeys li", { hasText: "first" }).getByRole("button", { name: "Remove" }).click();
    await page.locator(".passkeys li", { hasText: "first" }).waitFor({ state: "detached" });
    execFileSync(CALLGATE, ["passkeys", "remove", "second", "--data-dir", gate.data]);
    const late = gate.shell("rm -r build");
    await go(page, "approvals");
    await ready(page);
    await approve(page);
    await page.locator(".note.refused", { hasText: "no passkey is registered for you" }).waitFor();
    await page.keyboard.press("r");
    await page.keyboard.press("Enter");
    assert.equal((await late).isError, true, "a no needs no passkey");

    assert.equal(verify(gate).status, 0, verify(gate).stdout);
    await gate.end();
    const folder = join(gate.data, "audit");
    const log = readdirSync(folder).find((name) => readFileSync(join(folder, name), "utf8").includes('"signature":"'));
    const text = readFileSync(join(folder, log), "utf8");
    writeFileSync(join(folder, log), text.replace('"signature":"ME', '"signature":"MF'));
    assert.match(verify(gate).stdout, /BROKEN .*presence: the proof does not hold/);
  },
  presence("always"),
);

story(
  "high leaves the rest alone",
  async (gate, page) => {
    await key(page);
    await add(gate, page, "blue key");
    const low = gate.shell("echo low > low.txt");
    await ready(page);
    const { toolCallId, argsDigest } = await waiting(gate);
    assert.equal((await rest(gate, "POST", `/api/approvals/${toolCallId}`, { decision: "approve", argsDigest })).applied, true);
    assert.equal((await low).isError, false);
    const high = gate.shell("rm -r build");
    await ready(page);
    await page.locator(".detail", { hasText: "Approving needs your passkey." }).waitFor();
    await approve(page);
    assert.equal((await high).isError, false);
    assert.equal(gate.audit().filter((r) => r.event === "decision" && r.presence).length, 1);
  },
  presence("high"),
);

story(
  "a key in another process than the hub's",
  async (gate, page) => {
    const beside = await Gate.start({ beside: gate, ...presence("always") });
    try {
      await key(page);
      await add(gate, page, "blue key");
      const call = beside.shell("echo beside");
      await ready(page);
      const { toolCallId, argsDigest } = await waiting(gate);
      assert.equal((await rest(gate, "POST", `/api/approvals/${toolCallId}`, { decision: "approve", argsDigest })).error.code, "PRESENCE");
      await approve(page);
      assert.deepEqual(await call, { text: "beside\n", isError: false });
    } finally {
      await beside.close();
    }
  },
  presence("always"),
);

// The page at the address, where browsers use no passkeys, says where to go.
story(
  "the page at another name",
  async (gate, page) => {
    const other = await visit(gate.page().replace("localhost", "127.0.0.1"));
    await other.locator(".connection.open").waitFor();
    const call = gate.shell("echo x");
    await ready(other);
    await approve(other);
    await other.locator(".note.refused", { hasText: "http://localhost:" }).waitFor();
    await other.check();
    await ready(page);
    await page.keyboard.press("r");
    await page.keyboard.press("Enter");
    assert.equal((await call).isError, true);
    // Anybody may freeze; who could thaw it so needs a passkey.
    assert.equal((await rest(gate, "PUT", "/api/freeze", {})).status, 200);
    const soon = new Date(Date.now() + 60_000).toISOString();
    assert.equal((await rest(gate, "PUT", "/api/freeze", { until: soon })).error.code, "PRESENCE");
  },
  presence("always"),
);
