// How the page looks with several sessions: accessibility, light and dark, and the width of a phone. With
// SCREENSHOTS it takes the pictures of the documentation.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { browser, freshPage, phone, quiet, ready, visit } from "./browser.mjs";

after(() => browser.close());

const scale = process.env.SCREENSHOTS ? 2 : 1; // pictures are as sharp as a good screen
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function picture(page, name) {
  if (!process.env.SCREENSHOTS) return;
  await page.waitForTimeout(quiet);
  await page.screenshot({ path: join(process.env.SCREENSHOTS, `page-${name}.png`) });
}

// accessible runs axe over what is shown now.
async function accessible(page, where) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const found = violations.map((v) => `${v.id}: ${v.help}\n${v.nodes.map((n) => `  ${n.target} ${n.failureSummary}`).join("\n")}`);
  assert.deepEqual(found, [], where);
}

for (const scheme of ["light", "dark"]) {
  test(`accessible, ${scheme}`, { timeout: 1_200_000 }, async () => {
    const page = await visit(await freshPage(), { viewport: { width: 1160, height: 820 }, deviceScaleFactor: scale, colorScheme: scheme });
    await ready(page);
    assert.equal(await page.locator(".group").count(), 2, "what waits is grouped by session");
    await accessible(page, "an approval");
    await picture(page, scheme);
    await page.keyboard.press("a");
    await page.locator(".panel").waitFor();
    await accessible(page, "always");
    if (scheme === "light") await picture(page, "always");
    await page.keyboard.press("Escape");
    await page.locator(".item .open").nth(1).click();
    await page.locator(".diff .number").first().waitFor();
    await page.waitForTimeout(quiet);
    await accessible(page, "a difference");
    if (scheme === "dark") await picture(page, "diff");
    await page.keyboard.press("j");
    await page.waitForTimeout(quiet);
    await accessible(page, "high risk");
    await page.keyboard.press("r");
    await page.locator(".panel").waitFor();
    await accessible(page, "reject");
    await page.keyboard.press("Escape");
    await page.keyboard.press("e");
    await page.locator(".panel").waitFor();
    await accessible(page, "edit");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await accessible(page, "help");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("2");
    await page.locator(".card").nth(1).waitFor();
    await accessible(page, "sessions");
    await page.keyboard.press("3");
    await page.locator(".calls li").nth(2).waitFor();
    await accessible(page, "audit trail");
    await page.locator(".call").nth(1).click();
    await page.getByRole("dialog").waitFor();
    await accessible(page, "a record");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Rules" }).or(page.getByRole("tab", { name: "Rules" })).first().click();
    await page.locator(".grants li").nth(2).waitFor();
    await accessible(page, "rules");
    await page.locator(".grants button").first().click();
    await accessible(page, "a second question");
    await page.getByRole("button", { name: "Edit the file" }).click();
    await page.getByLabel("Text of the rules file").press("Control+End");
    await page.keyboard.type("x");
    await page.locator(".numbers .wrong").waitFor();
    await accessible(page, "a rules file that is not valid");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.type("  // later\n");
    await page.locator(".compare .diff-new").waitFor();
    await accessible(page, "a rules file that changes");
    if (scheme === "dark") await picture(page, "editor");
    await page.getByRole("button", { name: "Discard changes" }).click();
    await page.keyboard.press("5");
    await page.locator(".redefined").waitFor();
    if (scheme === "light") await picture(page, "tools");
    await page.getByText("files_edit_file").click();
    await accessible(page, "servers and tools");
    await page.keyboard.press("6");
    await page.locator(".checkpoints > li").nth(1).getByRole("button", { name: "Compare" }).click();
    await page.locator(".since .diff").nth(2).waitFor();
    await accessible(page, "checkpoints");
    if (scheme === "dark") await picture(page, "checkpoints");
    await page.keyboard.press("7");
    await page.locator(".hooks > li").nth(2).waitFor();
    await accessible(page, "hooks");
    await page.keyboard.press("8");
    await page.locator(".chat").waitFor();
    await accessible(page, "chat");
    await page.keyboard.press("9");
    await page.locator(".chart rect").nth(2).waitFor();
    await accessible(page, "questions");
    await page.check();
  });
}

test("a phone", { timeout: 1_200_000 }, async () => {
  const page = await visit(await freshPage(), { ...phone, deviceScaleFactor: scale });
  await ready(page);
  const fits = async (where) => assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)) <= 0, `${where} is wider than the screen`);
  await fits("an approval");
  await accessible(page, "an approval");
  await picture(page, "phone");
  await page.locator(".back").tap();
  await fits("the list");
  for (const [name, selector] of [["Sessions", ".card"], ["Audit", ".calls li"], ["Rules", ".grants li"], ["Tools", ".redefined"], ["Checkpoints", ".checkpoints > li"], ["Hooks", ".hooks > li"], ["Chat", ".chat"], ["Questions", ".chart rect"]]) {
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name }).tap();
    await page.locator(selector).first().waitFor();
    await fits(name);
    await accessible(page, `${name} on a phone`);
  }
  for (const view of ["questions", "approvals"]) {
    await page.evaluate((view) => (location.hash = `#/${view}`), view);
    await page.waitForFunction((view) => {
      const tab = document.querySelector(".tabs [aria-current]");
      const { left, right } = tab.getBoundingClientRect();
      return tab.hash.startsWith(`#/${view}`) && left >= 0 && right <= window.innerWidth;
    }, view);
  }
  await page.check();
});

// However long a name is, the list is not wider than its place, and what approves a selection is in sight.
test("a long queue on every width", { timeout: 1_200_000 }, async () => {
  const page = await visit(await freshPage(), { viewport: { width: 1280, height: 800 }, deviceScaleFactor: scale });
  await ready(page);
  await page.evaluate(() => document.querySelectorAll(".item-tool bdi").forEach((e) => (e.textContent = `server_${"x".repeat(57)}`)));
  for (const width of [375, 768, 1280, 1920]) {
    await page.setViewportSize({ width, height: 800 });
    const right = (selector) => page.locator(".queue " + selector).first().evaluate((e) => e.getBoundingClientRect().right);
    assert.ok((await right(".countdown")) <= (await right(".item")), `${width}: a long name hides how long the call still waits`);
    const wide = await page.evaluate(() => [document.documentElement, ...document.querySelectorAll(".queue")].map((e) => e.scrollWidth - e.clientWidth));
    assert.ok(Math.max(...wide) <= 0, `${width}: ${wide}`);
  }
  await page.setViewportSize({ width: 1280, height: 420 });
  await page.locator(".item input:enabled").first().check();
  const bar = await page.locator(".bulk").boundingBox();
  assert.ok(bar && bar.y >= 0 && bar.y + bar.height <= 420, `the bar is at ${bar?.y}`);
  assert.match(await page.locator(".bulk").innerText(), /1 selected/);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.locator(".item.high .open").first().click();
  await page.waitForTimeout(quiet);
  const looks = (name) => page.locator(`.actions .${name}`).evaluate((e) => getComputedStyle(e).backgroundColor);
  assert.notEqual(await looks("approve"), await looks("reject"), "Approve and Reject look alike");
  await page.check();
});

// A view, an approval and a record have an address: reload, Back and links lead there.
test("addresses", { timeout: 1_200_000 }, async () => {
  const page = await visit(await freshPage(), { viewport: { width: 1280, height: 800 } });
  await ready(page);
  const hash = () => page.evaluate(() => location.hash);
  assert.match(await hash(), /^#\/approvals\/call_/);
  await page.locator(".item .open").nth(1).click();
  const second = await hash();
  await page.keyboard.press("3");
  assert.equal(await hash(), "#/audit");
  await page.locator(".call").first().click();
  await page.locator("dialog h2").waitFor();
  const record = await hash();
  assert.match(record, /^#\/audit\/call_/);
  // What an address shows waits for the connection, however long that takes.
  await page.route("**/api/proof*", (route) => setTimeout(() => void route.continue(), 500));
  await page.reload();
  await page.locator("dialog h2").waitFor();
  assert.equal(await hash(), record);
  await page.goBack();
  await page.locator("dialog").waitFor({ state: "detached" });
  await page.goBack();
  await page.locator(".detail").waitFor();
  assert.equal(await hash(), second);
  await page.evaluate(() => {
    location.hash = "#/approvals/call_gone";
  });
  await page.getByText("no longer pending").waitFor();
  assert.match(await page.getByRole("link", { name: "Show the outcome" }).getAttribute("href"), /audit\/call_gone/);
  await page.check();
});

test("not paired", { timeout: 1_200_000 }, async () => {
  const page = await visit(new URL(await freshPage()).origin);
  await page.locator(".unpaired").waitFor();
  await accessible(page, "the first look");
  await page.check();
});
