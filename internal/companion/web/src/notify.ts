import { pushes } from "./push";
import { go, href } from "./route";
import type { Approval } from "./state";
import { visible } from "./visible";

// mayNotify returns "default" until the person has been asked, and "unsupported" in browsers without notifications.
export function mayNotify(): NotificationPermission | "unsupported" {
  return "Notification" in window ? Notification.permission : "unsupported";
}

// notify shows a desktop notification of an approval while the page is not visible. A click on it shows the
// approval and answers nothing.
export function notify(a: Approval): void {
  if (!document.hidden || mayNotify() !== "granted" || pushes()) return;
  const notification = new Notification(`callgate asks: ${visible(a.request.tool)}`, {
    body: visible(`${a.request.risk.label} risk. ${a.request.summary}`).slice(0, 300),
    tag: a.request.toolCallId,
  });
  notification.onclick = () => {
    window.focus();
    go(href("approvals", a.request.toolCallId));
    notification.close();
  };
}

// showCount puts the number of pending approvals where other tabs show it.
export function showCount(count: number): void {
  // The badge of an installed page. Some browsers have no badges.
  void (count > 0 ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.())?.catch(() => {});
  document.title = count > 0 ? `(${count}) callgate` : "callgate";
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  const wanted = count > 0 ? "/page/icon-waiting.svg" : "/page/icon.svg";
  if (icon && icon.getAttribute("href") !== wanted) icon.href = wanted;
}
