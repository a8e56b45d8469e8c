// Chromium, and pages of it that must not misbehave: every page is watched for violations of the policy, script
// errors, dialogs and requests that leave the server.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const args = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });

export const desktop = { viewport: { width: 1280, height: 860 } };
export const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 1, isMobile: true, hasTouch: true };

// freshPage has the test make an address of the page, which pairs for a minute: take it when it is visited.
export const freshPage = async () => (await fetch(process.env.PAGES)).text();

// visit opens a page in a context of its own. Its check MUST be called in the end.
export async function visit(url, options = desktop, prepare = async () => {}) {
  const context = await browser.newContext({ locale: "en-GB", ...options });
  context.setDefaultTimeout(300_000);
  const page = await context.newPage();
  const origin = new URL(url).origin;
  const trouble = [];
  page.on("pageerror", (error) => trouble.push(`script error: ${error.stack}`));
  page.on("dialog", (dialog) => {
    trouble.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) trouble.push(`a request to ${request.url()}`);
  });
  page.on("console", (message) => {
    if (/Content Security Policy|Trusted/i.test(message.text())) trouble.push(message.text());
  });
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  await prepare(page);
  await page.goto(url);
  page.check = async () => {
    trouble.push(...(await page.evaluate(() => window.violations)));
    assert.deepEqual(trouble, []);
    await context.close();
  };
  return page;
}

// pending waits until the page shows a question that takes answers.
export async function ready(page) {
  await page.locator(".actions").waitFor();
  await page.locator('.actions .reject[aria-disabled="false"]').waitFor();
}

// approve approves what is looked at with the keyboard. Where the end of its arguments is not on the screen, the first
// key only goes there.
export async function approve(page) {
  await ready(page);
  if ((await page.locator(".actions .to-end").count()) > 0) {
    await page.keyboard.press("y");
    await page.locator('.actions .approve[aria-disabled="false"]').waitFor();
  }
  await page.keyboard.press("y");
}

// setLevel sets the autonomy of the only session, and waits until callgate has.
export async function setLevel(page, level) {
  await page.getByLabel("Autonomy").selectOption(level);
  await page.getByRole("button", { name: `Set ${level}` }).click();
  await page.waitForFunction((level) => !document.querySelector(".card form button") && document.querySelector(".card select")?.value === level, level);
}

export const quiet = 450; // ms that a person rests
