import { useEffect, useState } from "preact/hooks";

// All countdowns share one clock, so that hundreds of them are drawn at once and not one after the other.
const watching = new Set<(now: number) => void>();
let clockTimer = 0;

// useNow is the time, and renders again every second. It is never older than the rendering: what begins between two
// ticks does not seem to last a second longer.
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

// minutes writes milliseconds as minutes and seconds, a part of a second as a whole one.
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

// clock writes a time of today, or with its day when it is of another.
export function clock(time: string | number): string {
  const date = new Date(time);
  const today = date.toDateString() === new Date().toDateString();
  return today ? date.toLocaleTimeString() : date.toLocaleString();
}
