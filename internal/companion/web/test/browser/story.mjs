// One test with a real callgate and a page in a real browser.
import { test } from "node:test";
import { desktop, visit } from "./browser.mjs";
import { Gate } from "./gate.mjs";

// story runs one test with a callgate and a page of its own.
export function story(name, run, { options = desktop, open = [], skip = false, ...gateOptions } = {}) {
  test(name, { timeout: 1_200_000, skip }, async () => {
    const gate = await Gate.start(gateOptions);
    try {
      const page = await visit(gate.page(...open), options);
      await page.locator(".connection.open").waitFor();
      await run(gate, page);
      await page.check();
    } catch (error) {
      error.message += `\ncallgate logged:\n${gate.log.slice(-2000)}`;
      throw error;
    } finally {
      await gate.close();
    }
  });
}
