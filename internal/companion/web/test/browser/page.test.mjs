// The page against a real callgate with the demo server behind it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, test } from "node:test";
import { browser, desktop, phone, quiet, ready, setLevel, visit } from "./browser.mjs";
import { Gate } from "./gate.mjs";
import { story } from "./story.mjs";
import { until } from "./within.mjs";

after(() => browser.close());

const current = (page) => page.locator(".detail");

story("approve", async (gate, page) => {
  const call = gate.shell("echo approved > out.txt && cat out.txt");
  await ready(page);
  const detail = current(page);
  assert.match(await detail.innerText(), /demo_shell_exec/);
  assert.match(await detail.locator(".badge").first().innerText(), /medium|high/i);
  assert.equal(await detail.locator(".parts .part").count(), 2, "each effective command is listed");
  assert.match(await detail.locator(".touched.writes").innerText(), /out\.txt/);
  assert.match(await detail.locator("[role=timer]").innerText(), /^\d:\d\d$/);
  assert.match(await page.title(), /^\(1\) callgate$/);
  const focused = await page.evaluate(() => document.activeElement?.tagName);
  assert.notEqual(focused, "BUTTON", "no button has the focus by itself");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Space");
  assert.equal(await page.locator(".item").count(), 1, "Enter and Space answer nothing by default");
  await page.waitForTimeout(quiet);
  await page.getByRole("button", { name: "Approve once" }).click();
  assert.deepEqual(await call, { text: "approved\n", isError: false });
  await page.locator(".outcomes .decision.approve").waitFor();
  assert.match(await page.locator(".nothing").innerText(), /No pending approvals/);
  await page.waitForFunction(() => document.title === "callgate");
});

story("reject with feedback", async (gate, page) => {
  const call = gate.shell("rm -r build");
  await ready(page);
  assert.match(await page.locator(".note.danger").innerText(), /High risk/);
  assert.equal(await page.getByRole("button", { name: /Always/ }).count(), 1, "a destructive command is offered by its exact text alone");
  await page.keyboard.press("r");
  await page.keyboard.type("Keep the build y a");
  await page.keyboard.press("Enter");
  const { text, isError } = await call;
  assert.ok(isError && text.includes("Keep the build y a"), text);
});

story("always, and what it releases with it", async (gate, page) => {
  const first = gate.shell("mkdir -p build/one");
  await ready(page);
  const second = gate.shell("mkdir -p build/two");
  const third = gate.shell("rm -r build");
  await page.locator(".item").nth(2).waitFor();
  await page.keyboard.press("a");
  const panel = page.getByRole("form", { name: "Always allow" });
  await panel.waitFor();
  assert.notEqual(await page.evaluate(() => document.activeElement?.getAttribute("type")), "submit");
  const ladders = await panel.getByRole("group").all();
  for (const ladder of ladders) {
    const steps = await ladder.locator(".step > span > code").allInnerTexts();
    await ladder.locator(".step input").nth(steps.length - 1).check(); // the broadest
  }
  assert.match(await panel.innerText(), /mkdir \*/);
  await panel.getByLabel("For", { exact: true }).selectOption("session");
  await panel.getByLabel("Ends", { exact: true }).selectOption({ label: "after an hour" });
  await panel.getByRole("button", { name: "Approve and always allow" }).click();
  assert.equal((await first).isError, false);
  assert.equal((await second).isError, false, "the cascade released the second call");
  assert.match(await page.locator(".outcomes .cascade").innerText(), /same “always”/);
  assert.equal(await page.locator(".item").count(), 1, "what is destructive goes on waiting");
  await ready(page);
  await page.keyboard.press("r");
  await page.keyboard.press("Enter");
  assert.equal((await third).isError, true);
});

story("what was approved before becomes a rule, and a while without questions ends with a key", async (gate, page) => {
  await page.addInitScript(() => {
    const every = window.setInterval;
    window.setInterval = (run, ms) => (ms === 1000 ? 0 : every(run, ms)); // between two ticks of the clock
  });
  await page.reload();
  await page.locator(".connection.open").waitFor();
  for (const name of ["ARG_MAX", "PAGE_SIZE", "CHAR_BIT"]) {
    const call = gate.shell(`getconf ${name}`);
    await ready(page);
    assert.equal(await page.locator(".suggestion").count(), 0, "nothing is suggested yet");
    await page.keyboard.press("y");
    assert.equal((await call).isError, false);
  }
  const fourth = gate.shell("getconf INT_MAX");
  await ready(page);
  assert.match(await page.locator(".suggestion").innerText(), /You approved 3 of these in this project/);
  await page.getByRole("button", { name: "Make it a rule" }).click();
  const panel = page.getByRole("form", { name: "Always allow" });
  assert.match(await panel.locator("input:checked + span").first().innerText(), /3 calls that you approved/);
  await page.keyboard.press("Escape");
  await page.keyboard.press("m");
  assert.equal((await fourth).isError, false);
  const running = page.getByRole("region", { name: "Allowed temporarily" });
  await running.waitFor();
  assert.match(await running.getByRole("timer").innerText(), /^(10:00|9:\d\d)$/);
  await page.keyboard.press("u");
  await running.waitFor({ state: "detached" });
  const fifth = gate.shell("getconf INT_MAX");
  await ready(page);
  await page.keyboard.press("r");
  await page.keyboard.press("Enter");
  assert.equal((await fifth).isError, true, "it asks again");
});

story("several of one kind are answered together", async (gate, page) => {
  const calls = ["a", "b", "c"].map((name) => gate.shell(`mkdir -p build/${name}`));
  await ready(page);
  await page.locator(".item").nth(2).waitFor();
  await page.locator(".like summary").click();
  assert.match(await page.locator(".like").innerText(), /3 like this wait/);
  for (const name of ["a", "b", "c"]) assert.match(await page.locator(".like").innerText(), new RegExp(`build/${name}`));
  await page.waitForTimeout(quiet);
  await page.getByRole("button", { name: "Select these 3" }).click();
  await page.getByRole("button", { name: /^Approve.*3/ }).click();
  for (const call of calls) assert.equal((await call).isError, false);
});

story("edit the arguments", async (gate, page) => {
  const call = gate.call("demo_shell_exec", `{"command":"echo one","timeout_seconds":1.50e1}`);
  await ready(page);
  assert.match(await page.locator(".json").innerText(), /1\.50e1/, "numbers keep their spelling");
  await page.keyboard.press("e");
  const text = page.getByLabel(/New arguments/);
  assert.match(await text.inputValue(), /"timeout_seconds": 1\.50e1/);
  await text.fill(`{"command": "echo two"`);
  await page.getByText("Not JSON").waitFor();
  assert.equal(await page.getByRole("button", { name: "Approve with these" }).getAttribute("aria-disabled"), "true");
  await text.fill(`{"command": "rm -rf build"}`);
  await page.locator(".panel .diff-new", { hasText: "rm -rf build" }).waitFor();
  await page.getByRole("button", { name: "Approve with these" }).click();
  await page.locator(".note.changed").waitFor();
  assert.match(await page.locator(".note.refused").innerText(), /riskier/);
  assert.match(await page.locator(".detail .badge").first().innerText(), /high/i);
  await ready(page);
  await page.keyboard.press("e");
  await page.getByLabel(/New arguments/).fill(`{"command": "echo three"}`);
  await page.keyboard.press("Control+Enter");
  const { text: result, isError } = await call;
  assert.ok(!isError && result.includes("three"), result);
});

story("file changes are shown as a difference", async (gate, page) => {
  const call = gate.call("demo_edit_file", { path: "README.md", old_text: "# Sample\n", new_text: "# Sample\n\nMore.\n" });
  await ready(page);
  await page.locator(".diff figcaption", { hasText: join(gate.workspace, "README.md") }).waitFor();
  const drawn = async () => (await page.locator(".diff .line").allInnerTexts()).map((l) => l.replace(/\s+/g, ""));
  assert.deepEqual(await drawn(), ["1#Sample", "2+", "3+More."], "against the file on the disk");
  await page.keyboard.press("y");
  assert.equal((await call).isError, false);

  // A passage that is not there cannot be compared: the arguments alone are shown, and why.
  const other = gate.call("demo_edit_file", { path: "README.md", old_text: "nowhere\n", new_text: "somewhere\n" });
  await ready(page);
  await page.locator(".remark").waitFor();
  assert.match(await page.locator(".remark").innerText(), /not in the file, letter for letter/);
  assert.deepEqual(await drawn(), ["-nowhere", "+somewhere"]);
  await page.keyboard.press("r");
  await page.keyboard.press("Enter");
  await other;

  const fresh = gate.call("demo_write_file", { path: "build/new.txt", content: "one\ntwo\n" });
  await ready(page);
  await page.locator(".diff figcaption", { hasText: "a new file" }).waitFor();
  assert.deepEqual(await drawn(), ["1+one", "2+two"]);
  await page.keyboard.press("y");
  await fresh;
});

story("connection lost while a call waits", async (gate, page) => {
  await page.check();
  let socket;
  const second = await visit(gate.page(), desktop, (p) =>
    p.routeWebSocket(/\/ws$/, (client) => {
      socket = client;
      client.connectToServer();
    }),
  );
  const call = gate.shell("echo still here");
  await ready(second);
  await second.route("**/api/proof?*", (route) => route.abort());
  await socket.close({ code: 1001 });
  await second.locator(".connection.lost").waitFor();
  assert.equal(await second.locator(".actions .approve").getAttribute("aria-disabled"), "true");
  assert.equal(await second.evaluate(() => sessionStorage.length), 0, "the credential is put away while nobody proves anything");
  await second.keyboard.press("y");
  await second.unroute("**/api/proof?*");
  await second.locator(".connection.open").waitFor();
  await ready(second);
  await second.keyboard.press("y");
  assert.deepEqual(await call, { text: "still here\n", isError: false });
  await second.check();
  Object.assign(page, { check: async () => {} });
});

story("somebody else takes the port", async (gate, page) => {
  const address = gate.address;
  const token = gate.credential("approve");
  await gate.end();
  await page.locator(".connection.lost").waitFor();
  const seen = [];
  const impostor = createServer((request, response) => {
    seen.push(JSON.stringify([request.url, request.headers]));
    response.setHeader("Content-Type", "application/json");
    response.end('{"proof":"00"}');
  });
  await new Promise((resolve) => impostor.listen(Number(address.split(":")[1]), "127.0.0.1", resolve));
  try {
    await page.locator(".unpaired .note").waitFor();
    assert.match(await page.locator(".unpaired .note").innerText(), /does not have the credential/);
    assert.ok(seen.length > 0 && !seen.some((s) => s.includes(token)), "the credential never leaves the page");
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  } finally {
    await new Promise((resolve) => impostor.close(resolve));
    impostor.closeAllConnections();
  }
});

story("two browsers race", async (gate, page) => {
  const other = await visit(gate.page());
  const call = gate.shell("echo once >> count.txt; cat count.txt");
  await Promise.all([ready(page), ready(other)]);
  await Promise.all([page.keyboard.press("y"), other.keyboard.press("y")]);
  assert.deepEqual(await call, { text: "once\n", isError: false });
  await Promise.all([page.locator(".outcomes .decision.approve").waitFor(), other.locator(".outcomes .decision.approve").waitFor()]);

  const next = gate.shell("echo twice");
  await Promise.all([ready(page), ready(other)]);
  await page.keyboard.press("r");
  await page.keyboard.press("Enter");
  assert.equal((await next).isError, true);
  const note = other.locator(".note.over");
  await note.waitFor();
  assert.match(await note.innerText(), /This was rejected by web:/);
  assert.equal(await other.locator(".actions").count(), 0, "what is over takes no answers");
  await other.check();
});

story("keys count after 400 ms of quiet", async (gate, page) => {
  // Somebody types all the time, beginning before the prompt comes up.
  const call = gate.shell("echo typed");
  let answered = false;
  void call.then(() => (answered = true));
  const until = Date.now() + 2500;
  let pause = 0;
  for (let last = Date.now(); last < until || (await page.locator(".item").count()) === 0 && !answered; ) {
    await page.keyboard.press("y");
    await page.waitForTimeout(60);
    pause = Math.max(pause, Date.now() - last);
    last = Date.now();
  }
  if (answered && pause > 150) return; // this machine is too slow to type without a rest: two pauses may lie between two keys
  assert.equal(answered, false, "typing into a prompt that comes up answers nothing");
  await page.mouse.move(5, 5);
  const approve = page.getByRole("button", { name: "Approve once" });
  await page.waitForTimeout(quiet);
  await page.keyboard.press("y");
  assert.equal((await call).isError, false);

  // The next one takes the place of the one before: the second click of a double click means the first.
  const a = gate.shell("echo a");
  const b = gate.shell("echo b");
  await page.locator(".item").nth(1).waitFor();
  await page.waitForTimeout(quiet);
  const clicked = Date.now();
  await approve.dblclick();
  const slow = Date.now() - clicked > 300; // two clicks that no person takes for one
  await Promise.race([a, b]);
  await page.waitForTimeout(200);
  const left = await page.locator(".item").count();
  assert.ok(left === 1 || slow, "a double click answers one call");
  if (left > 0) {
    await ready(page);
    await page.keyboard.press("y");
  }
  await Promise.all([a, b]);
});

story("keyboard and selection", async (gate, page) => {
  const calls = [gate.shell("echo one"), gate.shell("rm -r build"), gate.shell("echo three")];
  await page.locator(".item").nth(2).waitFor();
  await page.waitForTimeout(quiet);
  const order = await page.locator(".item .item-summary").allInnerTexts();
  const shown = () => page.locator(".item.current .item-summary").innerText();
  assert.equal(await shown(), order[0], "the first that came stays");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  assert.equal(await shown(), order[2]);
  await page.keyboard.press("k");
  assert.equal(await shown(), order[1]);
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("y");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal(await page.locator(".item").count(), 3, "keys do not answer behind the help");

  const destructive = page.locator(".item", { hasText: "rm -r build" }).locator("input");
  assert.equal(await destructive.isDisabled(), true, "what is destructive is not selected");
  for (const box of await page.locator(".item input[type=checkbox]:enabled").all()) await box.check();
  await page.locator(".bulk").getByRole("button", { name: "Clear" }).click();
  await page.locator(".bulk").waitFor({ state: "detached" });
  await page.evaluate(() => document.querySelectorAll(".item input[type=checkbox]:enabled").forEach((box) => box.click()));
  await page.locator(".bulk").getByRole("button", { name: "Approve 2" }).click();
  await page.locator(".item").nth(1).waitFor({ state: "detached" });
  assert.equal(await page.locator(".item").count(), 1);
  assert.match(await page.locator(".item").innerText(), /rm -r build/);
  await page.locator(".item .open").click();
  await ready(page);
  await page.keyboard.press("r");
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement?.dataset.opens), "reject", "the focus comes back to what opened the panel");
  await page.keyboard.press("r");
  await page.keyboard.press("Enter");
  assert.deepEqual((await Promise.all(calls)).map((c) => c.isError).sort(), [false, false, true]);
});

test("the hub is killed while a call waits", { timeout: 1_200_000 }, async () => {
  const hub = await Gate.start();
  const other = await Gate.start({ beside: hub, client: "Other Host" });
  try {
    const addresses = [hub.page(), hub.page()];
    const pages = await Promise.all(addresses.map((address) => visit(address)));
    const call = other.shell("echo survived");
    await Promise.all(pages.map(ready));
    const again = pages.map((page) => page.waitForEvent("websocket"));
    hub.process.kill("SIGKILL");
    await hub.exited;
    for (const [i, page] of pages.entries()) {
      await again[i]; // the connection breaks
      await page.locator(".connection.open").waitFor();
      await ready(page);
      assert.equal(await page.locator(".item").count(), 1, "what waited is shown once");
      assert.match(await page.locator(".detail .script").innerText(), /echo survived/);
      assert.equal(new URL(page.url()).origin, new URL(addresses[i]).origin, "at the same address");
    }
    await pages[0].waitForTimeout(quiet);
    await Promise.all(pages.map((page) => page.keyboard.press("y")));
    assert.deepEqual(await call, { text: "survived\n", isError: false });
    for (const page of pages) await page.locator(".nothing, .note.over").first().waitFor();
    const decided = other.audit().filter((r) => r.event === "decision" && JSON.stringify(r.arguments).includes("echo survived"));
    assert.deepEqual(decided.map((r) => r.decision), ["approved"], "the answer counts once");
    for (const page of pages) await page.check();
  } catch (error) {
    error.message += `\ncallgate logged:\n${other.log.slice(-2000)}`;
    throw error;
  } finally {
    await other.end();
    await hub.close();
    await other.close();
  }
});

story("the tree of arguments folds", async (gate, page) => {
  const content = Array.from({ length: 400 }, (_, i) => `line ${i}`).join("\n") + "\nthe very end\n";
  const call = gate.call("demo_write_file", { content, path: "after the long one.txt" });
  await ready(page);
  const tree = page.locator(".json");
  const head = tree.locator("summary", { hasText: "content" });
  assert.match(await tree.innerText(), /402 lines[^]*path\s*"after the long one\.txt"/, "what is small is seen, whatever stands before it");
  assert.doesNotMatch(await tree.innerText(), /line 1\b/);
  await head.focus();
  await page.keyboard.press("Enter");
  await tree.getByText("line 1", { exact: true }).waitFor();
  assert.doesNotMatch(await tree.innerText(), /the very end/, "a part is no more than a beginning until all is looked at");
  await page.keyboard.press("Space");
  await tree.getByText("line 1", { exact: true }).waitFor({ state: "detached" });
  await page.keyboard.press("v");
  await tree.getByText("the very end", { exact: true }).waitFor();
  await head.focus();
  await page.keyboard.press("Enter");
  await tree.getByText("the very end", { exact: true }).waitFor({ state: "hidden" });
  await head.getByText(/402 lines/).waitFor();
  // What comes next is not folded because this was.
  void gate.call("demo_write_file", { content: "two\nlines", path: "next.txt" });
  await page.locator(".item").nth(1).waitFor();
  await page.keyboard.press("j");
  await tree.getByText("lines", { exact: true }).waitFor();
  assert.equal(await tree.locator("details:not([open])").count(), 0);
  gate.cancel();
  await page.locator(".note.over").waitFor();
  await page.waitForTimeout(quiet);
  await page.keyboard.press("k");
  await ready(page);
  await page.keyboard.press("r");
  await page.keyboard.press("Enter");
  assert.equal((await call).isError, true);
});

story("long arguments are looked at first", async (gate, page) => {
  const content = Array.from({ length: 400 }, (_, i) => `line ${i}`).join("\n") + "\nthe very end\n";
  const call = gate.call("demo_write_file", { path: "long.txt", content });
  await ready(page);
  const approve = page.getByRole("button", { name: "Approve once" });
  assert.equal(await approve.getAttribute("aria-disabled"), "true");
  await page.keyboard.press("y");
  await approve.click({ force: true });
  assert.equal(await page.locator(".item").count(), 1);
  assert.doesNotMatch(await page.locator(".detail").innerText(), /the very end/);
  assert.equal(await page.locator(".item input[type=checkbox]").isDisabled(), true);
  await page.keyboard.press("v");
  assert.match(await page.locator(".json").innerText(), /the very end/);
  assert.equal(await approve.getAttribute("aria-disabled"), "false");
  await page.keyboard.press("y");
  assert.equal((await call).isError, false);
});

story(
  "the end of a risky call's arguments is seen first",
  async (gate, page) => {
    const long = (name) => gate.shell(`echo ${"all is well, ".repeat(60)}; rm -r ${name}`);
    const [goes, approve] = [page.getByRole("button", { name: "Show the end" }), page.getByRole("button", { name: "Approve once" })];
    mkdirSync(join(gate.workspace, "other"));
    const first = long("build");
    await ready(page);
    assert.deepEqual([await goes.count(), await approve.count()], [1, 0], "nothing approves what ends below the screen");
    for (const name of ["Edit", "Always…"]) assert.equal(await page.getByRole("button", { name }).getAttribute("aria-disabled"), "true", name);
    await page.keyboard.press("y");
    await page.locator('.actions .approve[aria-disabled="false"]').waitFor();
    assert.ok(existsSync(join(gate.workspace, "build")), "the first key only scrolls");
    const [end, bar] = await Promise.all([page.locator(".json").boundingBox(), page.locator(".answers").boundingBox()]);
    assert.ok(end.y + end.height <= bar.y, "the end lies above the buttons");
    await page.keyboard.press("y");
    assert.equal((await first).isError, false);

    const second = long("other");
    await ready(page);
    const clicked = Date.now();
    await goes.dblclick();
    const slow = Date.now() - clicked > 300; // two clicks that no person takes for one
    await page.waitForTimeout(quiet);
    assert.ok(slow || existsSync(join(gate.workspace, "other")), "a double click approves nothing");
    if (existsSync(join(gate.workspace, "other"))) await approve.click();
    assert.equal((await second).isError, false);

    await page.setViewportSize(desktop.viewport);
    const third = gate.shell("rm -r nowhere");
    await ready(page);
    await page.keyboard.press("y");
    assert.match((await third).text, /nowhere/, "what fits on the screen needs one key");

    // However low the window is, the end can be seen.
    await page.setViewportSize({ width: 320, height: 256 });
    const fourth = long("nowhere");
    await ready(page);
    await goes.click();
    await page.locator('.actions .approve[aria-disabled="false"]').waitFor();
    await approve.click();
    assert.match((await fourth).text, /nowhere/);
  },
  { options: { ...phone, viewport: { width: 320, height: 640 } } },
);

story(
  "text from outside stays text, and what hides is shown",
  async (gate, page) => {
    const evil = `echo "<img src=x onerror=alert(1)><script>alert(2)</script>" # \u202Egnp.exe\u200B\u0007`;
    const call = gate.shell(evil);
    await ready(page);
    const detail = await current(page).innerText();
    for (const want of ["<img src=x onerror=alert(1)>", "⟨U+202E⟩", "⟨U+200B⟩", "⟨U+0007⟩"]) assert.ok(detail.includes(want), `${want} in ${detail}`);
    assert.equal(await page.locator(".detail img, .detail script").count(), 0);
    assert.ok((await page.locator(".detail .hidden-char").count()) >= 3);
    assert.match(await page.locator(".group").innerText(), /<b>host<\/b>⟨U\+202E⟩/);
    await page.keyboard.press("r");
    await page.keyboard.press("Enter");
    await call;
    await page.locator(".nothing").waitFor();
    await page.keyboard.press("3");
    await page.locator(".calls li", { hasText: "⟨U+202E⟩" }).first().waitFor();
    await page.keyboard.press("2");
    await page.locator(".card h3", { hasText: "<b>host</b>⟨U+202E⟩" }).waitFor();
  },
  { client: "<b>host</b>\u202E" },
);

story(
  "a page with the view credential",
  async (gate, page) => {
    const call = gate.shell("echo watched");
    await current(page).waitFor();
    assert.equal(await page.locator(".actions, .item input").count(), 0);
    await page.waitForTimeout(quiet);
    for (const key of ["y", "r", "a", "e"]) await page.keyboard.press(key);
    assert.equal(await page.locator(".panel").count(), 0);
    await page.keyboard.press("2");
    assert.equal(await page.getByLabel("Autonomy").isDisabled(), true);
    await gate.end();
    await call.catch(() => {});
  },
  { open: ["--view"] },
);

story(
  "nobody answers in time",
  async (gate, page) => {
    // A page on a busy machine may learn of a question when it is over: it is asked until the page has shown it.
    const shown = async (text) => {
      await page.evaluate((text) => {
        window.soon = 0;
        const look = () => {
          if (document.querySelector(".detail .script")?.innerText.includes(text) && document.querySelector(".actions")) {
            window.soon = Math.max(window.soon, document.querySelectorAll(".countdown.soon").length);
          }
        };
        new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
      }, text);
      await until(`a page that shows ${text} in time`, async () => {
        assert.equal((await gate.shell(`echo ${text}`)).isError, true);
        return (await page.evaluate(() => window.soon)) > 0;
      });
      return page.evaluate(() => window.soon);
    };
    assert.equal(await shown("late"), 2, "little time is left, in the list and beside it");
    await page.locator(".note.over", { hasText: /This timed out\. +Nobody answered within 3s/ }).waitFor();
    await page.keyboard.press("y");
    await page.locator(".actions").waitFor({ state: "detached" });
    await shown("next"); // what comes next takes the place of what is over
  },
  { flags: ["--timeout", "3s"] },
);

story("the host takes the call back", async (gate, page) => {
  void gate.shell("echo withdrawn").catch(() => {});
  await ready(page);
  gate.cancel();
  await page.locator(".note.over").waitFor();
  assert.match(await page.locator(".note.over").innerText(), /This was withdrawn by host/);
  await page.waitForTimeout(quiet);
  await page.keyboard.press("j");
  await page.locator(".nothing").waitFor();
});

story("pairing", async (gate, page) => {
  assert.equal(new URL(page.url()).hash, "", "the code is gone from the address");
  assert.ok((await page.evaluate(() => JSON.stringify(sessionStorage))).includes(gate.credential("approve")));
  await page.reload();
  await page.locator(".connection.open").waitFor();

  const used = gate.page();
  const first = await visit(used);
  await first.locator(".connection.open").waitFor();
  const second = await visit(used);
  assert.match(await second.locator(".note.refused").innerText(), /wrong, was used already, or is older/);
  await second.getByLabel(/Or paste/).fill(gate.page());
  await second.getByRole("button", { name: "Pair" }).click();
  await second.locator(".connection.open").waitFor();
  await second.reload();
  await second.locator(".connection.open").waitFor();
  const view = gate.page("--view");
  await second.evaluate((hash) => (location.hash = hash), new URL(view).hash);
  await second.getByText("view only").waitFor();
  assert.equal(new URL(second.url()).hash, "", "a code that is pasted later is taken too");
  await Promise.all([first.check(), second.check()]);
});

const elsewhere = process.platform !== "linux" && "it stands in for the program that starts browsers on Linux";

story("the browser is started by callgate open", async (gate) => {
  const seen = join(gate.dir, "seen");
  writeFileSync(join(gate.dir, "xdg-open"), `#!/bin/sh\nprintf '%s' "$*" > '${seen}'\n`, { mode: 0o755 });
  const env = { ...process.env, DISPLAY: ":0", PATH: `${gate.dir}:${process.env.PATH}` };
  const open = (env) => execFileSync(process.env.CALLGATE, ["open", "--data-dir", gate.data], { env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  assert.equal(open(env), "", "a browser was started, so nothing is printed");
  const opened = await visit(readFileSync(seen, "utf8"));
  await opened.locator(".connection.open").waitFor();
  await opened.check();
  assert.match(open({ ...env, DISPLAY: "", WAYLAND_DISPLAY: "" }), /^http:\/\/127\.0\.0\.1:\d+\/#pair=[\w-]{43}\n$/, "without a display the address is printed");
}, { skip: elsewhere });

story("a rotated credential ends the page", async (gate, page) => {
  const call = gate.shell("echo rotated");
  await ready(page);
  writeFileSync(join(gate.data, "credentials", "approve"), "A".repeat(43), { mode: 0o600 });
  await page.getByText("This page is no longer paired").waitFor();
  assert.equal(await page.locator(".item").count(), 0);
  await gate.end();
  await call.catch(() => {});
});

test("desktop notifications while nobody looks", { timeout: 1_200_000 }, async () => {
  const gate = await Gate.start();
  const page = await visit(gate.page(), desktop, (p) =>
    p.addInitScript(() => {
      window.told = [];
      window.Notification = class {
        static permission = "default";
        static async requestPermission() {
          return (this.permission = "granted");
        }
        constructor(title, { body }) {
          window.told.push(`${title}: ${body}`);
        }
      };
      Object.defineProperty(document, "hidden", { get: () => window.away === true });
    }),
  );
  await page.locator(".connection.open").waitFor();
  await page.getByRole("button", { name: "Notify me" }).click();
  await page.getByRole("button", { name: "Notify me" }).waitFor({ state: "detached" });
  await page.evaluate(() => (window.away = true));
  const call = gate.shell("echo \u202Etold");
  await page.waitForFunction(() => window.told.length === 1);
  assert.match(await page.evaluate(() => window.told[0]), /^callgate asks: demo_shell_exec: .* risk\. Run .*U\+202E/);
  assert.equal(await page.title(), "(1) callgate");
  assert.match(await page.locator("link[rel=icon]").getAttribute("href"), /waiting/);
  await gate.end();
  await call.catch(() => {});
  await page.check();
  await gate.close();
});

story("sessions and audit trail", async (gate, page) => {
  await gate.call("demo_read_file", { path: "README.md" });
  await gate.call("demo_read_file", { path: ".env" });
  await page.keyboard.press("2");
  const card = page.locator(".card");
  assert.match(await card.innerText(), /Test Host/);
  await setLevel(page, "SUPERVISED");
  assert.equal((await gate.shell("echo by level")).isError, false, "the level runs it");
  await setLevel(page, "MANUAL");
  const waiting = gate.call("demo_read_file", { path: "README.md" });
  await page.locator(".status.waiting").waitFor();
  await page.keyboard.press("3");
  await page.locator(".calls li").getByText("waits for an answer").waitFor();
  await page.keyboard.press("2");
  await page.getByRole("button", { name: /Cancel running and pending/ }).click();
  await page.getByRole("button", { name: "Cancel them" }).click();
  assert.equal((await waiting).isError, true);

  await page.keyboard.press("3");
  await page.locator(".calls li").nth(3).waitFor();
  await page.getByLabel("Decision").selectOption("denied");
  await page.waitForFunction(() => document.querySelectorAll(".calls li").length === 1);
  await page.locator(".call").click();
  const details = page.getByRole("dialog");
  assert.match(await details.innerText(), /\*\.env/);
  await page.keyboard.press("Escape");
  await page.getByLabel("Decision").selectOption("");
  await page.getByLabel("Search").fill("demo_SHELL");
  await page.waitForFunction(() => document.querySelectorAll(".calls li").length === 1 && document.querySelector(".calls li").textContent.includes("demo_shell_exec"));

});

story(
  "on a phone",
  async (gate, page) => {
    const calls = [gate.shell("cat README.md | tr a-z A-Z > build/upper.txt && wc -l build/upper.txt"), gate.shell("echo second")];
    await ready(page);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(overflow <= 0, `the page is ${overflow}px wider than the screen`);
    const box = await page.getByRole("button", { name: "Approve once" }).boundingBox();
    assert.ok(box && box.y + box.height <= 844 && box.height >= 44, "Approve is on the screen and large enough for a thumb");
    await page.getByRole("button", { name: /All/ }).tap();
    assert.equal(await page.locator(".detail").isVisible(), false);
    await page.locator(".item .open").nth(1).tap();
    await ready(page);
    await page.getByRole("button", { name: "Approve once" }).tap();
    await Promise.race(calls);
    await ready(page);
    await page.getByRole("button", { name: "Approve once" }).tap();
    assert.deepEqual((await Promise.all(calls)).map((c) => c.isError), [false, false]);
  },
  { options: phone },
);
