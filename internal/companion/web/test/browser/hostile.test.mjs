// A string that tries everything, in every field that comes from outside.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { browser, freshPage, quiet, setLevel, visit } from "./browser.mjs";

after(() => browser.close());

test("hostile strings stay text", { timeout: 1_200_000 }, async () => {
  const page = await visit(await freshPage());
  await page.locator(".detail").waitFor();
  // Each field shows its string from the beginning to the characters that hide, as text.
  const shows = async (where, ...fields) => {
    const text = (await page.locator(where).allInnerTexts()).join("\n").replace(/\s+/g, " ");
    for (const field of fields) {
      const want = `${field}"'><img src=x onerror="window.pwned=1"><script>window.pwned=1</script><style>*{display:none}</style>&lt;javascript:window.pwned=1 \${7*7} ⟨U+202E⟩txt.exe⟨U+2066⟩⟨U+200B⟩⟨U+00AD⟩⟨U+001B⟩[31m⟨U+FEFF⟩`;
      // Words of a command and definitions stand in JSON or shell quotes, where a quote and a bare control are escaped.
      const escaped = want.replaceAll('"', '\\"').replace(/⟨U\+([0-9A-F]{4})⟩/g, (_, code) => `\\u${code.toLowerCase()}`);
      const found = [want, want.replaceAll('"', '\\"'), escaped].some((w) => text.includes(w));
      assert.ok(found, `${field} in ${text}`);
    }
  };
  await page.locator(".banner").waitFor();
  await shows(".banner", "trouble");
  await page.keyboard.press("v");
  await page.waitForTimeout(quiet); // a click counts then
  await page.locator(".detail .ids summary").click();
  await shows(".detail", "tool", "server", "session", "agent", "worker", "kind", "category", "reason", "mark", "code");
  await shows(".detail", "name", "item", "inner", "lines", "script", "argv", "via", "reads", "writes", "subject", "because", "layer", "definition", "says", "rewriter", "original");
  await shows(".queue", "client", "tool", "summary");
  const next = page.locator(".detail").getByText("diskpath").first();
  for (let tries = 0; tries < 20 && !(await next.isVisible()); tries++) {
    await page.keyboard.press("j"); // it does nothing while the page waits for the keyboard to rest
    await page.waitForTimeout(quiet);
  }
  await next.waitFor();
  await shows(".detail", "diskpath", "diskbefore", "diskafter", "diskremark");
  await page.keyboard.press("k");
  await page.waitForTimeout(quiet);
  await page.keyboard.press("a");
  await shows(".panel", "offertool", "pattern", "example");
  await page.keyboard.press("Escape");
  await page.keyboard.press("e");
  const edited = await page.locator("textarea").inputValue();
  assert.match(edited, /\\u202etxt\.exe\\u2066\\u200b\\u00ad\\u001b\[31m\\ufeff/, "what hides is escaped in the editor");
  await page.keyboard.press("Escape");

  await page.keyboard.press("2");
  await page.locator(".card .ids summary").click();
  await shows(".card", "client", "version", "session", "agent", "worker");
  await shows(".agents", "member", "role", "goal", "domain", "provider", "model", "rolename", "rolegoal", "roledomain");
  await page.keyboard.press("3");
  await page.locator(".calls li").waitFor();
  await shows(".calls", "tool", "record", "reason");
  await page.locator(".call").click();
  await page.locator("dialog details summary").click();
  await shows("dialog", "call", "session", "worker", "agent", "server", "tool", "kind", "by", "rule", "reason", "record", "digest", "hash", "prev");
  await shows("dialog", "subjecttool", "value", "subjectrule");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Rules" }).or(page.getByRole("tab", { name: "Rules" })).first().click();
  await page.locator(".grants li").waitFor();
  await shows(".page", "ruletool", "rulepattern", "agentlayer", "layerfile", "granttool", "grantpattern", "grantserver", "grantworkspace", "grantsession", "grantby");
  await shows(".page", "problem", "problemwhy", "problemcure", "path");
  await page.keyboard.press("5");
  await page.locator(".redefined").waitFor();
  await shows(".page", "upstream", "downwhy", "toolname", "toolkind", "toolwhy", "toolrule", "tooldescription", "toolargument", "toolrole", "definitionwhy", "olddefinition", "newdefinition");
  await page.getByRole("region", { name: "Replicas" }).getByText("behind the others").waitFor();
  await shows(".page", "replica", "replicaversion", "replicastate");
  await page.keyboard.press("6");
  await page.locator(".checkpoints > li").nth(1).waitFor();
  await shows(".checkpoints", "checkpointtool", "note", "file", "change", "filewhy", "restorer", "othersession");
  await page.getByRole("button", { name: "Compare" }).first().click();
  await page.locator(".since .diff").waitFor();
  await shows(".since", "diffpath", "what", "kept", "now");
  await page.keyboard.press("7");
  await page.locator(".hooks li").waitFor();
  await shows(".hooks", "hookname", "hookevent", "matcher", "action", "when", "failedevent", "failure");

  await page.keyboard.press("2");
  await setLevel(page, "MANUAL");
  await page.keyboard.press("1");
  await page.locator(".note.over").waitFor();
  await shows(".note.over", "resolver", "feedback");
  await shows(".outcomes", "resolver", "tool");

  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.equal(await page.locator("img:not([src='/page/icon.svg']), #app script, #app style").count(), 0);
  const directions = await page.evaluate(() => [...document.querySelectorAll("bdi")].every((b) => getComputedStyle(b).unicodeBidi.startsWith("isolate")));
  assert.ok(directions, "every string is apart from its surroundings");
  await page.check();
});
