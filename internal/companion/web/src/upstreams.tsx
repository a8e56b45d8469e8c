import { useEffect, useState } from "preact/hooks";
import { message, type Store } from "./store";
import { Text } from "./text";
import type { Info } from "./wire";

const period = 4_000; // ms between two looks

const words: { [state: string]: string } = { up: "up", starting: "starting", down: "down" };

// Upstreams shows the MCP servers behind callgate. Their state has no frames: it is read again while it is looked at.
export function Upstreams({ store }: { store: Store }) {
  const [info, setInfo] = useState<Info | null>(null);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    const read = () => {
      if (document.hidden) return;
      store.get<Info>("/api/info").then(
        (found) => {
          setInfo(found);
          setTrouble("");
        },
        (error: unknown) => setTrouble(message(error)),
      );
    };
    read();
    const timer = setInterval(read, period);
    return () => clearInterval(timer);
  }, [store]);
  return (
    <section class="page" aria-labelledby="upstreams">
      <h2 id="upstreams">Upstreams</h2>
      {trouble && (
        <p class="note refused" role="alert">
          <Text of={trouble} />
        </p>
      )}
      {info && info.upstreams.length === 0 && <p class="empty">No MCP server is configured.</p>}
      <div class="cards">
        {info?.upstreams.map((u) => (
          <article class="card" key={u.name}>
            <header>
              <h3>
                <Text of={u.name} code />
              </h3>
              <span class={`status ${u.state}`}>{words[u.state] ?? u.state}</span>
            </header>
            <p>{u.tools === 1 ? "1 tool" : `${u.tools} tools`}</p>
            {u.error && (
              <p class="failed">
                <Text of={u.error} />
              </p>
            )}
          </article>
        ))}
      </div>
      {info && (
        <p class="label">
          callgate <Text of={info.version} />, MCP <Text of={info.protocols.mcp.join(", ")} />
        </p>
      )}
    </section>
  );
}
