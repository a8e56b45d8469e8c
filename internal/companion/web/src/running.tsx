import { minutes, useNow } from "./countdown";
import { useLoaded } from "./load";
import { Mono } from "./parts";
import type { Store } from "./store";
import { Text } from "./text";
import type { Grant } from "./wire";

// RunningGrants holds the grants of sessions that expire within an hour, newest last.
export interface RunningGrants {
  grants: Grant[];
  end(grant: Grant): void;
  endNewest(): void;
}

const soon = 3_600_000;

export function useRunning(store: Store): RunningGrants {
  const { data, again } = useLoaded<{ grants: Grant[] }>(store, "/api/grants", 5_000);
  const now = Date.now();
  const grants = [...new Map((data?.grants ?? []).map((g) => [g.id, g])).values()]
    .filter((g) => g.sessionId && g.expires && !g.expired && Date.parse(g.expires) > now && Date.parse(g.expires) - now <= soon)
    .sort((a, b) => Date.parse(a.at ?? "") - Date.parse(b.at ?? ""));
  const end = (g: Grant) => 
    void store
      .ask("DELETE", `/api/grants/${g.id}?sessionId=${encodeURIComponent(g.sessionId ?? "")}`)
      .catch((error: unknown) => store.refused(error))
      .finally(again);
  return { grants, end, endNewest: () => grants.length > 0 && end(grants.at(-1)!) };
}

// Running shows what runs without a question for a while, and for how much longer.
export function Running({ of, mayAnswer }: { of: RunningGrants; mayAnswer: boolean }) {
  const now = useNow();
  const running = of.grants.filter((g) => Date.parse(g.expires ?? "") > now);
  if (running.length === 0) return null;
  return (
    <section class="banner running" aria-label="Allowed temporarily">
      {running.map((g) => (
        <p key={g.id}>
          <Mono of={g.pattern} /> runs in session <Text of={g.sessionId ?? ""} code /> for <span role="timer">{minutes(Date.parse(g.expires ?? "") - now)}</span>{" "}
          {mayAnswer && (
            <button type="button" class="quiet" onClick={() => of.end(g)}>
              End it {g === running.at(-1) && <kbd aria-hidden="true">u</kbd>}
            </button>
          )}
        </p>
      ))}
    </section>
  );
}
