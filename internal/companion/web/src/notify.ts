import { pushes } from "./push";
import type { Approval } from "./state";
import { visible } from "./visible";

// mayNotify is "default" until the person was asked, "unsupported" where there are no notifications.
export function mayNotify(): NotificationPermission | "unsupported" {
  return "Notification" in window ? Notification.permission : "unsupported";
}

// notify tells the desktop about an approval while nobody looks at the page. It brings the page to the front and
// answers nothing.
export function notify(a: Approval): void {
  if (!document.hidden || mayNotify() !== "granted" || pushes()) return;
  const notification = new Notification(`callgate asks: ${visible(a.request.tool)}`, {
    body: visible(`${a.request.risk.label} risk. ${a.request.summary}`).slice(0, 300),
    tag: a.request.toolCallId,
  });
  notification.onclick = () => {
    window.focus();
    notification.close();
  };
}

// showCount puts the number of pending approvals where it is seen from other tabs.
export function showCount(count: number): void {
  // The badge of an installed page; a browser without badges has none.
  void (count > 0 ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.())?.catch(() => {});
  document.title = count > 0 ? `(${count}) callgate` : "callgate";
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  const wanted = count > 0 ? "/page/icon-waiting.svg" : "/page/icon.svg";
  if (icon && icon.getAttribute("href") !== wanted) icon.href = wanted;
}
