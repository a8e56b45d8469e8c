// The page's service worker: it shows push messages, counts them on the badge, and leads to the question. It has no fetch
// handler and no cache: what is asked and answered passes it by.
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(inTurn(() => show(event.data?.json() ?? {}))));
self.addEventListener("notificationclose", (event) => event.waitUntil(inTurn(count)));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(Promise.all([lead(event.notification.data?.open), inTurn(count)]));
});

// inTurn lets nobody count while a notification is being shown: Chromium then forgets the notification, and a tap on it leads
// nowhere.
let last = Promise.resolve();
function inTurn(work) {
  const mine = last.then(work);
  last = mine.catch(() => {});
  return mine;
}

// show puts what happened last in the place of what was told before of the same question.
async function show({ tag, title, body, open, over }) {
  await self.registration.showNotification(title || "callgate", { tag, body, icon: "/page/icon.svg", silent: Boolean(over), requireInteraction: !over, data: { open, waiting: !over } });
  await count();
}

async function count() {
  const waiting = (await self.registration.getNotifications()).filter((n) => n.data?.waiting).length;
  await (waiting > 0 ? self.navigator.setAppBadge?.(waiting) : self.navigator.clearAppBadge?.());
}

// lead brings the page to the question, in the window that is there.
async function lead(open) {
  const fragment = typeof open === "string" && open.startsWith("#/") ? open : "";
  const page = (await self.clients.matchAll({ type: "window", includeUncontrolled: true })).find((p) => new URL(p.url).pathname === "/");
  if (!page) return self.clients.openWindow(`/${fragment}`);
  page.postMessage({ open: fragment });
  return page.focus();
}
