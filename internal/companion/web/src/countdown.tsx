import { useEffect, useState } from "preact/hooks";

// All countdowns share one clock, so that hundreds of them are drawn together and not one after another.
const watching = new Set<(now: number) => void>();
let clockTimer = 0;

// useNow returns the time and renders again every second. The time is never older than the rendering, so a countdown
// that starts between two ticks does not show a second too many.
export function useNow(): number {
  const [, setNow] = useState(0);
  useEffect(() => {
    watching.add(setNow);
    if (watching.size === 1) {
      clockTimer = window.setInterval(() => {
        const now = Date.now();
        for (const watch of watching) watch(now);
      }, 1000);
    }
    return () => {
      watching.delete(setNow);
      if (watching.size === 0) clearInterval(clockTimer);
    };
  }, []);
  return Date.now();
}

// minutes formats milliseconds as minutes and seconds, rounded up.
export function minutes(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

// Countdown shows how long a person has until the call is denied.
export function Countdown({ created, expires, bar = false }: { created: string; expires: string; bar?: boolean }) {
  const now = useNow();
  const end = Date.parse(expires);
  const left = Math.max(0, Math.ceil((end - now) / 1000));
  return (
    <span class={`countdown ${left <= 20 ? "soon" : ""}`}>
      <span role="timer" aria-label={`${left} seconds left`}>
        {minutes(end - now)}
      </span>
      {bar && (
        <>
          <span class="label"> until it is denied</span>
          <progress max={Math.max(1, end - Date.parse(created))} value={Math.max(0, end - now)} aria-hidden="true" />
        </>
      )}
    </span>
  );
}

// clock formats a time, with its date unless that is today.
export function clock(time: string | number): string {
  const date = new Date(time);
  const today = date.toDateString() === new Date().toDateString();
  return today ? date.toLocaleTimeString() : date.toLocaleString();
}
