// The page's service worker: it shows push messages, counts them on the badge, and opens the question. It has no fetch
// handler and no cache, so questions and answers do not pass through it.
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(inTurn(() => show(event.data?.json() ?? {}))));
self.addEventListener("notificationclose", (event) => event.waitUntil(inTurn(count)));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(Promise.all([lead(event.notification.data?.open), inTurn(count)]));
});

// inTurn runs one task at a time. Counting while a notification is being shown makes Chromium forget the notification,
// and a tap on it leads nowhere.
let last = Promise.resolve();
function inTurn(work) {
  const mine = last.then(work);
  last = mine.catch(() => {});
  return mine;
}

// show replaces the earlier notification of the same question.
async function show({ tag, title, body, open, over }) {
  await self.registration.showNotification(title || "callgate", { tag, body, icon: "/page/icon.svg", silent: Boolean(over), requireInteraction: !over, data: { open, waiting: !over } });
  await count();
}

async function count() {
  const waiting = (await self.registration.getNotifications()).filter((n) => n.data?.waiting).length;
  await (waiting > 0 ? self.navigator.setAppBadge?.(waiting) : self.navigator.clearAppBadge?.());
}

// lead opens the question, in the existing window if there is one.
async function lead(open) {
  const fragment = typeof open === "string" && open.startsWith("#/") ? open : "";
  const page = (await self.clients.matchAll({ type: "window", includeUncontrolled: true })).find((p) => new URL(p.url).pathname === "/");
  if (!page) return self.clients.openWindow(`/${fragment}`);
  page.postMessage({ open: fragment });
  return page.focus();
}
