// Push messages on a phone: from a call to its answer in two taps, through a push service that checks and decrypts.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, test } from "node:test";
import { browser, phone, ready, visit } from "./browser.mjs";
import { Gate } from "./gate.mjs";
import { PushService } from "./pushservice.mjs";
import { within } from "./within.mjs";

after(() => browser.close());

test("a push message leads to the question, and is answered in two taps", { timeout: 1_200_000 }, async (t) => {
  const service = await PushService.start();
  const config = `channels:\n  - name: phone\n    kind: push\n    page: http://127.0.0.1:1\n    url: ${service.host}\n`;
  const gate = await Gate.start({ config });
  let approver;
  let said = ""; // by the approver
  try {
    const page = await visit(gate.page(), phone, async (page) => {
      await page.context().grantPermissions(["notifications"]);
      // The browser's own push service is out of reach: what a subscription gives is this one's.
      await page.addInitScript((subscription) => {
        PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
          window.subscribedWith = applicationServerKey;
          return { toJSON: () => subscription };
        };
      }, service.subscription);
    });
    await page.locator(".connection.open").waitFor();
    await page.getByRole("button", { name: "Push to this device" }).tap();
    await page.getByRole("button", { name: "Push to this device: on" }).waitFor();
    service.key = await page.evaluate(() => window.subscribedWith);
    assert.ok(gate.audit().some((r) => r.summary === `Send push messages to a browser, by ${service.host}.` && r.by.startsWith("web:")), "it is on record");
    assert.equal(await page.evaluate(async () => (await caches.keys()).length), 0, "nothing is cached");

    approver = spawn(process.env.CALLGATE, ["approve", "--channels", "--address", gate.address, "--config", `${gate.dir}/callgate.yaml`, "--data-dir", gate.data], { stdio: ["ignore", "ignore", "pipe"] });
    approver.stderr.on("data", (chunk) => (said += chunk));
    const ended = once(approver, "exit").then(([code, signal]) => Promise.reject(new Error(`callgate approve ended: ${code ?? signal}`)));
    ended.catch(() => {}); // when the test ends, it does
    const pushed = (what) => within(`${what} at the push service`, Promise.race([service.next(), ended]));
    const worker = page.context().serviceWorkers()[0] ?? (await page.context().waitForEvent("serviceworker"));
    const devtools = await page.context().newCDPSession(page);
    const registered = new Promise((resolve) => devtools.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => registrations[0] && resolve(registrations[0])));
    await devtools.send("ServiceWorker.enable");
    const { registrationId } = await within("the service worker's registration", registered);
    const notifications = () => within("the notifications", worker.evaluate(async () => (await self.registration.getNotifications()).map((n) => ({ title: n.title, body: n.body, ...n.data }))));
    // deliver returns what is shown once the worker has dealt with the message. Nothing asks for notifications before: Chromium
    // forgets one that it is about to show when somebody does.
    const deliver = async (message) => {
      const worked = await within("the service worker", worker.evaluateHandle(() => {
        const done = new Promise((resolve, reject) => {
          PushEvent.prototype.waitUntil = function (work) {
            delete PushEvent.prototype.waitUntil;
            work.then(resolve, reject);
            this.waitUntil(work);
          };
        });
        return { done };
      }));
      await devtools.send("ServiceWorker.deliverPushMessage", { origin: new URL(page.url()).origin, registrationId, data: message.text });
      await within("the service worker with a message", worked.evaluate(({ done }) => done));
      return notifications();
    };

    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Sessions" }).tap();
    const began = performance.now();
    const call = gate.shell("echo pushed");
    const message = await pushed("a question");
    assert.match(message.title, /asks: demo_shell_exec/);
    assert.match(message.body, /echo pushed/);
    const arrived = performance.now();
    assert.deepEqual((await deliver(message)).map((n) => n.waiting), [true]);
    // The first tap: the notification.
    await worker.evaluate(async () => {
      const [notification] = await self.registration.getNotifications();
      self.dispatchEvent(new NotificationEvent("notificationclick", { notification }));
    });
    await ready(page);
    assert.equal(await page.evaluate(() => location.hash), message.open);
    // The second tap.
    const asked = performance.now();
    await page.locator(".actions .approve").tap();
    assert.equal((await call).text, "pushed\n");
    const answered = performance.now();
    t.diagnostic(`ms: question to push ${Math.round(arrived - began)}, push to question on the screen ${Math.round(asked - arrived)}, tap to result ${Math.round(answered - asked)}; 2 taps`);
    const over = await pushed("its end");
    assert.equal(over.tag, message.tag, "how it ended takes the place of the question");
    assert.ok(over.over && over.body.startsWith("Approved by "), over.body);
    assert.deepEqual((await deliver(over)).map((n) => n.waiting), [false]);
    await page.check();
  } catch (error) {
    error.message += `\ncallgate logged:\n${gate.log.slice(-2000)}\nthe approver said:\n${said.slice(-2000)}`;
    throw error;
  } finally {
    if (approver) {
      approver.kill();
      if (approver.exitCode === null && approver.signalCode === null) await once(approver, "exit");
    }
    await gate.close();
    service.close();
  }
});
