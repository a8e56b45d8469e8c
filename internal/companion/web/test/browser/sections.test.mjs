// The views beside approvals, against a real callgate: rules and grants, servers and tools.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { approve, browser, desktop, quiet, ready, visit } from "./browser.mjs";
import { Gate } from "./gate.mjs";
import { story } from "./story.mjs";
import { until } from "./within.mjs";

after(() => browser.close());

const show = (page, view) => page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: view }).click();
const controls = (gate) => gate.audit().filter((r) => r.event === "control");

story("rules: seen, edited, and saved only when they are valid", async (gate, page) => {
  await show(page, "Rules");
  const file = page.getByRole("region", { name: "Rules of permissions.jsonc" });
  await file.waitFor();
  assert.match((await file.innerText()).replaceAll(/\s+/g, " "), /read_file anything allow 1 \*\.env deny 1/);
  await page.getByText("Agent explore").waitFor();

  await page.getByRole("button", { name: "Edit the file" }).click();
  const text = page.getByLabel("Text of the rules file");
  const before = await text.inputValue();
  assert.equal(before, readFileSync(gate.rules, "utf8"));
  const save = page.getByRole("button", { name: /^Save/ });
  assert.equal(await save.getAttribute("aria-disabled"), "true", "there is nothing to save");

  await text.fill(`{\n  "*": "ask",\n  "shell_exec": "perhaps"\n}\n`);
  await page.getByRole("button", { name: "Line 3, column 17" }).waitFor();
  assert.match(await page.locator(".findings").innerText(), /perhaps/);
  assert.equal(await page.locator(".numbers .wrong").innerText(), "3");
  assert.equal(await save.getAttribute("aria-disabled"), "true");
  await page.keyboard.press("Control+s");
  await page.getByRole("button", { name: "Line 3, column 17" }).click();
  assert.equal(await text.evaluate((area) => area.value.slice(area.selectionStart).split("\n")[0]), '"perhaps"', "the cursor is where the mistake is");
  assert.equal(readFileSync(gate.rules, "utf8"), before, "nothing is saved");

  const fits = () => text.evaluate((area) => {
    const coloured = area.parentElement.querySelector("pre");
    return area.scrollWidth <= area.clientWidth && area.scrollHeight <= area.clientHeight && coloured.offsetWidth === area.offsetWidth;
  });
  await text.fill(`{\n  // ${"a long line ".repeat(60)}\n  "*": "ask"\n}${"\n".repeat(80)}`);
  assert.ok(await fits(), "every letter stands on its coloured copy, however long the lines are");

  const after = `{\n  // nobody prints\n  "*": "ask",\n  "shell_exec": { "*": "ask", "printf *": "deny" }\n}\n`;
  await text.fill(after);
  await page.getByText("Valid: 3 rules.").waitFor();
  assert.match(await page.locator(".compare").innerText(), /nobody prints/);
  await page.keyboard.press("Control+s");
  await page.getByRole("button", { name: "Edit the file" }).waitFor();
  assert.equal(readFileSync(gate.rules, "utf8"), after, "comments and order are kept");
  await file.getByText("printf *").waitFor();
  const denied = await gate.shell("printf x");
  assert.ok(denied.isError && denied.text.includes("printf *"), denied.text);
  const edit = controls(gate).find((r) => r.summary.startsWith("Edited the rules"));
  assert.match(edit.by, /^web:/);
  assert.match(edit.summary, /removed read_file "\*\.env" deny.*added shell_exec "printf \*" deny/);
});

story("rules: the second of two editors learns of the first", async (gate, page) => {
  await show(page, "Rules");
  await page.getByRole("button", { name: "Edit the file" }).click();
  const text = page.getByLabel("Text of the rules file");
  await text.fill(`{ "*": "ask", "glob": "deny" }\n`);
  await page.getByText("Valid: 2 rules.").waitFor();
  const first = `{ "*": "ask", "grep": "deny" }\n`;
  writeFileSync(gate.rules, first);
  await page.keyboard.press("Control+s");
  await page.getByText("Somebody else changed the rules.").waitFor();
  assert.equal(readFileSync(gate.rules, "utf8"), first, "nothing of the first is lost");
  assert.equal(await text.inputValue(), `{ "*": "ask", "glob": "deny" }\n`, "nor of the second");
  await page.getByRole("button", { name: "Compare" }).click();
  await page.locator(".compare mark", { hasText: "rep" }).waitFor();
  await page.keyboard.press("Control+s");
  await page.getByRole("button", { name: "Edit the file" }).waitFor();
  assert.equal(readFileSync(gate.rules, "utf8"), `{ "*": "ask", "glob": "deny" }\n`);
});

story("rules: what was typed stays when the sessions end", async (gate, page) => {
  await show(page, "Rules");
  const other = await Gate.start({ beside: gate });
  await page.getByRole("button", { name: "Edit the file" }).click();
  const text = page.getByLabel("Text of the rules file");
  await text.fill(`{ "*": "ask", "glob": "deny" }\n`);
  const read = page.waitForResponse("**/api/sessions");
  await page.route("**/api/sessions", (route) => route.fulfill({ json: { sessions: [] } }));
  await other.close();
  await read;
  await page.getByText("Valid: 2 rules.").waitFor();
  assert.equal(await text.inputValue(), `{ "*": "ask", "glob": "deny" }\n`);
});

story("a freeze is seen and ended without a session", async (gate, page) => {
  await page.route("**/api/sessions", (route) => route.fulfill({ json: { sessions: [] } }));
  await page.reload();
  await show(page, "Sessions");
  await page.getByText("No host is connected.").waitFor();
  const freeze = page.getByRole("button", { name: "Freeze all sessions" });
  await freeze.click();
  const banner = page.getByRole("alert").filter({ hasText: "Frozen." });
  await banner.waitFor();
  await freeze.waitFor({ state: "detached" });
  await banner.getByRole("button", { name: "Unfreeze" }).click();
  await banner.waitFor({ state: "detached" });
  await freeze.waitFor();
});

story("a page whose credential was removed says so", async (gate) => {
  execFileSync(process.env.CALLGATE, ["credentials", "add", "approve@alice", "--data-dir", gate.data]);
  const page = await visit(gate.page("--as", "alice"), desktop);
  await page.locator(".connection.open").waitFor();
  execFileSync(process.env.CALLGATE, ["credentials", "remove", "approve@alice", "--data-dir", gate.data]);
  await page.getByRole("alert").getByText("This page is no longer paired").waitFor();
});

story("rules: a file that is not valid is loud", async (gate, page) => {
  writeFileSync(gate.rules, `{ "*": "ask",\n  "glob" "deny" }\n`);
  await show(page, "Rules");
  const note = page.getByRole("alert");
  await note.waitFor();
  assert.match(await note.innerText(), /everything is denied\. Line 2, column 10/);
  assert.equal((await gate.call("demo_glob", { pattern: "*" })).isError, true);
});

story("grants are revoked with a second click", async (gate, page) => {
  const call = gate.shell("echo one");
  await ready(page);
  await page.keyboard.press("a");
  assert.match(await page.locator(".step", { has: page.locator("input:checked") }).innerText(), /^echo one\b/, "the narrowest is chosen at first");
  await page.locator(".step", { hasText: "echo *" }).click();
  await page.getByRole("button", { name: "Approve and always allow" }).click();
  await call;
  assert.equal((await gate.shell("echo two")).isError, false);
  await show(page, "Rules");
  const grant = page.locator(".grants li", { hasText: "echo *" });
  await grant.waitFor();
  assert.match(await grant.innerText(), /up to LOW[\s\S]*server demo[\s\S]*every session, by web:/i);
  await grant.getByRole("button", { name: "Revoke…" }).click();
  assert.match(readFileSync(gate.rules, "utf8"), /echo \*/, "one click revokes nothing");
  await grant.getByRole("button", { name: "Revoke", exact: true }).click();
  await grant.waitFor({ state: "detached" });
  assert.doesNotMatch(readFileSync(gate.rules, "utf8"), /echo \*/);
  const again = gate.shell("echo three");
  await show(page, "Approvals");
  await ready(page);
  await page.keyboard.press("r");
  await page.keyboard.press("Enter");
  assert.equal((await again).isError, true);
  assert.ok(controls(gate).some((r) => r.summary.startsWith('Revoked the grant shell_exec "echo *"') && r.by.startsWith("web:")));
});

story(
  "suggestions: what was approved again and again becomes a rule with one click",
  async (gate, page) => {
    await show(page, "Rules");
    await page.getByRole("region", { name: "Rules of permissions.jsonc" }).waitFor();
    assert.equal(await page.locator(".suggestions").count(), 0, "nothing was answered yet");
    await show(page, "Approvals");
    for (let i = 0; i < 8; i++) {
      const call = gate.shell(`date -u +%Y-${i}`);
      await ready(page);
      await page.keyboard.press("y");
      assert.equal((await call).isError, false);
    }
    await show(page, "Rules");
    const card = page.getByRole("region", { name: "Suggestions" });
    await card.waitFor();
    assert.match((await card.innerText()).replaceAll(/\s+/g, " "), /would have answered (\d) of \1 questions in 1 day, and nothing that you rejected.*date \*.*saves \1, such as/);
    await show(page, "Questions");
    await card.waitFor();
    const families = page.getByRole("region", { name: "By command or tool" });
    assert.match((await families.innerText()).replaceAll(/\s+/g, " "), /8 100% .* date/i);
    await page.getByRole("region", { name: "Always the same answer" }).waitFor();
    await page.locator(".chart rect.asked").waitFor();
    const drawn = await page.locator(".figures").innerText();
    assert.match(drawn.replaceAll(/\s+/g, " "), /8 calls 0 ran without a question 8 questions, 0 only for a person 100% of them approved/);
    await page.route("**/api/rules/suggestions*", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      await route.fetch();
      await route.abort("timedout"); // as on a slow machine
    });
    await card.getByRole("button", { name: "Allow this one from now on" }).click();
    await card.waitFor({ state: "detached" });
    await show(page, "Rules");
    await page.locator(".grants li", { hasText: "date *" }).waitFor();
    assert.equal((await gate.shell("date -u +%H")).isError, false, "it is not asked about any more");
    const taken = controls(gate).at(-1);
    assert.match(taken.by, /^web:/);
  },
  { config: `    tools:\n      - name: shell_exec\n        kind: shell_exec\n        roles: [{ argument: command, role: command }, { argument: cwd, role: dir }, { argument: timeout, role: plain }]\n` },
);

story(
  "servers, tools, and a definition that changed",
  async (gate, page) => {
    await gate.call("demo_read_file", { path: "README.md" }); // waits until the server has started
    await show(page, "Tools");
    const demo = page.getByRole("region", { name: "Server demo" });
    await demo.getByText("demo_read_file").waitFor();
    assert.match(await demo.locator("li", { hasText: "demo_read_file" }).innerText(), /read_file[\s\S]*runs/);
    assert.match(await demo.locator("li", { hasText: "demo_write_file" }).innerText(), /write_file[\s\S]*asks/);
    assert.match(await demo.locator("header").innerText(), /demo\s+up\s+6 tools/);
    await page.getByRole("searchbox", { name: "Tool" }).fill("grep");
    assert.equal(await demo.locator(".lines > li").count(), 1);
    await page.getByRole("searchbox", { name: "Tool" }).fill("");
    assert.equal(await page.locator(".redefined").count(), 0);

    // Of a tool that nobody labelled there is a draft to correct, which changes nothing by itself.
    const awkward = page.getByRole("region", { name: "Server awkward" });
    await awkward.locator("summary", { hasText: /awkward_echo(?!_)/ }).first().click();
    const form = awkward.getByRole("form", { name: "Labels of awkward_echo" });
    await form.getByLabel("A call").selectOption("none");
    await form.getByLabel("public open to").check();
    const entry = await form.locator("pre").innerText();
    assert.match(entry, /- name: "awkward"[\s\S]*- name: "echo"[\s\S]*effect: none[\s\S]*returns: \[.*"public".*\]/);

    const change = gate.call("awkward_change_definition", {});
    await show(page, "Approvals");
    await approve(page);
    await change;

    // An approval of the changed tool shows the difference, and so does the list, where it can be accepted.
    // The server's list is read again a moment after it announces a change.
    const known = page.getByText("One tool definition has changed.");
    await until("a changed definition", async () => {
      await show(page, "Approvals");
      await show(page, "Tools");
      await demo.getByText("demo_read_file").waitFor();
      return known.isVisible();
    });
    await show(page, "Approvals");
    const call = gate.call("awkward_echo", { text: "x" });
    await ready(page);
    assert.match(await page.locator(".detail").innerText(), /How the tool.s definition changed[\s\S]*CHANGED/);
    await show(page, "Tools");
    const tool = page.getByRole("region", { name: "Definition of awkward_echo" });
    await tool.waitFor();
    assert.match(await tool.locator(".diff-new").allInnerTexts().then((all) => all.join("\n")), /CHANGED/);
    await page.getByText("One tool definition has changed.").waitFor();
    await tool.getByRole("button", { name: "Accept this definition…" }).click();
    await tool.getByRole("button", { name: "Accept it" }).click();
    await tool.waitFor({ state: "detached" });
    assert.ok(controls(gate).some((r) => r.summary.startsWith("Accepted the definition of awkward_echo") && r.by.startsWith("web:")));
    await show(page, "Approvals");
    await approve(page);
    await call;
    const next = gate.call("awkward_echo", { text: "y" });
    await ready(page);
    assert.doesNotMatch(await page.locator(".detail").innerText(), /definition/);
    await page.keyboard.press("r");
    await page.keyboard.press("Enter");
    await next;
  },
  { awkward: true },
);

story("checkpoints: compared, and brought back", async (gate, page) => {
  const file = join(gate.workspace, "README.md");
  const write = gate.call("demo_write_file", { path: "README.md", content: "-- changed\n" });
  await ready(page);
  await page.keyboard.press("y");
  await write;
  await show(page, "Checkpoints");
  const row = page.locator(".checkpoints > li", { hasText: "demo_write_file" });
  await row.waitFor();
  assert.match(await row.innerText(), /README\.md\s+changed/);
  await row.getByRole("button", { name: "Compare" }).click();
  await row.locator(".diff-new", { hasText: "-- changed" }).waitFor();
  assert.match(await row.locator(".diff-gone").innerText(), /# Sample/);
  const stray = `${file}.0123456789abcdef.tmp`;
  writeFileSync(stray, "half");
  await row.getByRole("button", { name: "Restore these files…" }).click();
  assert.match(readFileSync(file, "utf8"), /changed/, "one click restores nothing");
  await row.getByRole("button", { name: "Restore", exact: true }).click();
  await row.getByText("Nothing changed since this checkpoint.").waitFor();
  assert.equal(readFileSync(file, "utf8"), "# Sample\n");
  const left = row.locator(".stray", { hasText: "README.md.0123456789abcdef.tmp" });
  await left.getByRole("button", { name: "Remove…" }).click();
  assert.ok(existsSync(stray), "one click removes nothing");
  await left.getByRole("button", { name: "Remove", exact: true }).click();
  await left.waitFor({ state: "detached" });
  assert.ok(!existsSync(stray));
  assert.ok(controls(gate).some((r) => /restore/i.test(r.summary) && r.by.startsWith("web:")), "it is on record, with who");

  // What somebody else changed since is said before it is overwritten. What was before the restore is kept, too.
  const before = page.locator(".checkpoints > li", { hasText: "before a restore" }).first();
  await before.waitFor();
  writeFileSync(file, "somebody else\n");
  await row.getByRole("button", { name: "Hide" }).click();
  await row.getByRole("button", { name: "Compare" }).click();
  await row.getByText("One file has changed since the call.").waitFor();
  await row.getByRole("button", { name: "Restore these files…" }).click();
  await row.getByRole("button", { name: "Overwrite" }).click();
  await row.getByText("Nothing changed since this checkpoint.").waitFor();
  assert.equal(readFileSync(file, "utf8"), "# Sample\n");
});

story("two callgates, one page", async (gate, page) => {
  const other = await Gate.start({ beside: gate, client: "Second Host", awkward: true });
  try {
    // The second process' call, compared with its disk, is answered through the first one's page.
    const call = other.call("demo_edit_file", { path: "README.md", old_text: "# Sample", new_text: "# Second" });
    await page.locator(".item", { hasText: "demo_edit_file" }).locator(".open").click();
    await ready(page);
    await page.locator(".diff figcaption", { hasText: join(other.workspace, "README.md") }).waitFor();
    await page.keyboard.press("y");
    assert.equal((await call).isError, false);
    assert.equal(readFileSync(join(other.workspace, "README.md"), "utf8"), "# Second\n");

    await show(page, "Sessions");
    await page.locator(".card", { hasText: "Second Host" }).waitFor();
    assert.equal(await page.locator(".card").count(), 2);
    await show(page, "Tools");
    const choice = page.getByLabel("Session");
    await choice.selectOption({ label: (await choice.locator("option", { hasText: "Second Host" }).innerText()).trim() });
    await page.getByRole("region", { name: "Server awkward" }).waitFor();

    // A grant in the second one's memory is listed, and revoked where it lives.
    const granted = other.shell("echo one");
    await show(page, "Approvals");
    await ready(page);
    await page.keyboard.press("a");
    await page.locator(".step", { hasText: "echo *" }).click();
    await page.getByLabel("For", { exact: true }).selectOption("session");
    await page.getByRole("button", { name: "Approve and always allow" }).click();
    await granted;
    await show(page, "Rules");
    const grant = page.locator(".grants li", { hasText: "echo *" });
    await grant.getByRole("button", { name: "Revoke…" }).click();
    await grant.getByRole("button", { name: "Revoke", exact: true }).click();
    await grant.waitFor({ state: "detached" });
    await show(page, "Checkpoints");
    await page.locator(".checkpoints > li", { hasText: "demo_edit_file" }).getByRole("button", { name: "Compare" }).click();
    await page.locator(".since .diff-new", { hasText: "# Second" }).waitFor();
    const again = other.shell("echo two");
    await show(page, "Approvals");
    await ready(page);
    await page.keyboard.press("r");
    await page.keyboard.press("Enter");
    assert.equal((await again).isError, true);
  } finally {
    await other.close();
  }
});

test("tabs come at once, so that none moves under the pointer", { timeout: 1_200_000 }, async () => {
  const gate = await Gate.start();
  try {
    let release, answered;
    const held = new Promise((resolve) => (release = resolve));
    const page = await visit(gate.page(), desktop, async (page) => {
      await page.route("**/api/rules", async (route) => {
        await held;
        await route.continue();
      });
      answered = page.waitForResponse("**/api/hooks");
    });
    await page.locator(".connection.open").waitFor();
    await answered;
    const tabs = page.getByRole("navigation", { name: "Views" }).getByRole("link");
    assert.deepEqual(await tabs.allInnerTexts(), ["Approvals", "Sessions", "Audit", "Chat", "Questions"]);
    release();
    await tabs.getByText("Hooks").waitFor();
    assert.deepEqual(await tabs.allInnerTexts(), ["Approvals", "Sessions", "Audit", "Rules", "Tools", "Checkpoints", "Hooks", "Chat", "Questions"]);
    await page.check();
  } finally {
    await gate.close();
  }
});

story(
  "hooks are switched off and on",
  async (gate, page) => {
    await show(page, "Hooks");
    const row = page.locator(".hooks > li", { hasText: "fails" });
    await row.waitFor();
    const call = gate.shell("echo one");
    await show(page, "Approvals");
    await ready(page);
    await page.keyboard.press("y");
    await call;
    await show(page, "Hooks");
    await row.getByText("1 failed").waitFor();
    assert.match(await row.innerText(), /tool\.completed[\s\S]*command[\s\S]*after[\s\S]*ran once/);
    await row.getByRole("switch").click();
    await page.locator(".hooks > .off", { hasText: "fails" }).waitFor();
    const next = gate.shell("echo two");
    await show(page, "Approvals");
    await ready(page);
    await page.keyboard.press("y");
    await next;
    await show(page, "Hooks");
    await row.waitFor();
    assert.match(await row.innerText(), /ran once/, "it did not run again");
    assert.equal(await row.getByRole("switch").isChecked(), false);
    await row.getByRole("switch").click();
    await page.locator(".hooks > .off").waitFor({ state: "detached" });
    assert.ok(controls(gate).some((r) => /fails/.test(r.summary) && r.by.startsWith("web:")), "it is on record, with who");
  },
  { config: 'hooks:\n  - name: fails\n    event: tool.completed\n    action: {command: ["false"]}\n' },
);

story(
  "what a hook changed is shown beside what came",
  async (gate, page) => {
    const call = gate.shell("echo came");
    await ready(page);
    const section = page.locator("section", { has: page.locator("#rewritten") });
    assert.match(await section.innerText(), /Changes that the hook quieter made[\s\S]*echo came[\s\S]*echo changed/);
    assert.match(await page.locator(".why").innerText(), /The server’s description: /);
    await page.keyboard.press("y");
    assert.match((await call).text, /^changed/);
  },
  { config: `hooks:\n  - name: quieter\n    event: tool.requested\n    when: before\n    action: {command: ["echo", '{"arguments": {"command": "echo changed"}}']}\n` },
);

story(
  "who may only watch changes nothing",
  async (gate, page) => {
    await show(page, "Rules");
    await page.getByRole("region", { name: "Rules of permissions.jsonc" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Edit the file" }).count(), 0);
    const call = gate.call("demo_write_file", { path: "README.md", content: "x" });
    await show(page, "Approvals");
    await page.locator(".diff").waitFor();
    await page.waitForTimeout(quiet);
    assert.match(await page.locator(".diff figcaption").innerText(), /the new file/, "what is on the disk is for those who answer");
    await gate.end();
    await call.catch(() => {});
  },
  { open: ["--view"] },
);

story("an older callgate has fewer views", async (gate, page) => {
  const without = await visit(gate.page(), undefined, async (p) => {
    await p.route(/\/api\/(rules|tools|hooks|checkpoints)$/, (route) => route.fulfill({ status: 404, json: { error: { code: "BAD_MESSAGE", message: "there is nothing at this path" } } }));
  });
  await without.locator(".connection.open").waitFor();
  assert.deepEqual(await without.locator(".tabs a").allInnerTexts(), ["Approvals", "Sessions", "Audit", "Chat", "Questions"]);
  await without.check();
});
