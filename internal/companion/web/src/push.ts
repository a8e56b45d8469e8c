// Push messages: the browser wakes this page's service worker when callgate asks, even if the page is closed.
import { go } from "./route";
import type { Store } from "./store";

const file = "/page/sw.js";
const key = "callgate.push"; // in localStorage: whether this browser is subscribed

interface Policies {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

// The server allows only this policy to make URLs of scripts, and it makes only one.
const policy = (window as { trustedTypes?: Policies }).trustedTypes?.createPolicy("worker", {
  createScriptURL(url) {
    if (url !== file) throw new TypeError("there is one service worker");
    return url;
  },
});

export const canPush = () => "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
export const pushes = () => localStorage.getItem(key) !== null;

// followPushes goes to the place of a clicked notification.
export function followPushes(): void {
  navigator.serviceWorker?.addEventListener("message", ({ data }: MessageEvent<{ open?: unknown }>) => {
    if (typeof data?.open === "string" && data.open.startsWith("#/")) go(data.open);
  });
}

// startPush subscribes this browser with callgate's key.
export async function startPush(store: Store, applicationServerKey: string): Promise<void> {
  if ((await Notification.requestPermission()) !== "granted") throw new Error("the browser blocks notifications from this page");
  await navigator.serviceWorker.register(policy?.createScriptURL(file) ?? file, { scope: "/" });
  const { pushManager } = await navigator.serviceWorker.ready;
  const wanted = { userVisibleOnly: true, applicationServerKey };
  const subscription = await pushManager.subscribe(wanted).catch(async (error: unknown) => {
    const old = await pushManager.getSubscription(); // with an old key of callgate
    if (!old) throw error;
    await old.unsubscribe();
    return pushManager.subscribe(wanted);
  });
  const { endpoint, keys } = subscription.toJSON();
  await store.ask("POST", "/api/push", { endpoint, p256dh: keys?.p256dh, auth: keys?.auth });
  localStorage.setItem(key, "on");
}

export async function stopPush(store: Store): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration("/");
  const subscription = await registration?.pushManager.getSubscription();
  if (subscription) {
    await store.ask("DELETE", "/api/push", { endpoint: subscription.endpoint });
    await subscription.unsubscribe();
  }
  localStorage.removeItem(key);
}
