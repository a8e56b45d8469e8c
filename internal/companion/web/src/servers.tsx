import { useState } from "preact/hooks";
import { Difference } from "./difference";
import { indented } from "./json";
import { LabelForm, told } from "./labels";
import { useLoaded } from "./load";
import { Mono, Page, SessionChoice, Trouble, Twice } from "./parts";
import type { State } from "./state";
import type { Store } from "./store";
import { Text } from "./text";
import { visible } from "./visible";
import type { Info, Replica, Server, Tool, Tools } from "./wire";

const period = 4_000; // ms between two reads, because no frames report the state of servers

// Servers shows the MCP servers behind callgate, and how the current rules treat each tool.
export function Servers({ store, state }: { store: Store; state: State }) {
  const [session, setSession] = useState("");
  const [wanted, setWanted] = useState("");
  const chosen = state.sessions.some((s) => s.sessionId === session) ? session : (state.sessions[0]?.sessionId ?? "");
  const { data, trouble, again } = useLoaded<Tools>(store, `/api/tools${chosen && `?sessionId=${encodeURIComponent(chosen)}`}`, period);
  const info = useLoaded<Info>(store, "/api/info", period).data;
  const changed = data?.servers.flatMap((s) => s.offered.filter((t) => t.definitionChanged)) ?? [];
  return (
    <Page
      name="Servers and tools"
      lead="The tools of your MCP servers, and what the rules say about a call of each."
      beside={
        <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
          <SessionChoice sessions={state.sessions} chosen={chosen} choose={setSession} />
          <label class="field">
            Tool
            <input type="search" value={wanted} spellcheck={false} onInput={(event) => setWanted(event.currentTarget.value)} />
          </label>
        </form>
      }
    >
      <Trouble of={trouble} />
      {changed.length > 0 && (
        <p class="note changed" role="status">
          <strong>{changed.length === 1 ? "One tool definition has changed." : `${changed.length} tool definitions have changed.`}</strong> Calls to{" "}
          {changed.length === 1 ? "this tool" : "these tools"} ask every time until someone accepts the new definition.
        </p>
      )}
      {data?.sessionId === "" && data.servers.some((s) => s.offered.length > 0) && (
        <p class="note" role="status">
          No host is connected. These are the tools that were accepted last.
        </p>
      )}
      {data && data.servers.length === 0 && <p class="empty">No MCP server is configured.</p>}
      {data?.servers.map((server) => (
        <Offered
          key={server.name}
          of={server}
          connected={data.sessionId !== ""}
          wanted={wanted.trim().toLowerCase()}
          accept={
            store.mayAnswer
              ? (tool) =>
                  store
                    .ask("POST", `/api/tools/accept?sessionId=${encodeURIComponent(data.sessionId)}`, { tool: tool.tool, hash: tool.hash })
                    .finally(again)
              : null
          }
        />
      ))}
      {info?.replicas && <Replicas of={info.replicas} />}
      {info && (
        <p class="label foot">
          callgate <Text of={info.version} />, MCP <Text of={info.protocols.mcp.join(", ")} />
        </p>
      )}
    </Page>
  );
}

// Replicas shows the processes that form one gate. A replica with older rules than others is behind.
function Replicas({ of }: { of: Replica[] }) {
  const newest = Math.max(...of.map((r) => r.rules));
  const silent = of.filter((r) => r.state !== "up").length;
  return (
    <section class="sheet server" aria-label="Replicas">
      <header>
        <h3>Replicas</h3>
        <span class={`status ${silent > 0 ? "down" : "up"}`}>{silent > 0 ? `${silent} silent` : "all up"}</span>
      </header>
      <ul class="lines">
        {of.map((r) => (
          <li key={r.name}>
            <p class="said">
              <Text of={r.name} code /> <span class={`status ${r.state === "up" ? "up" : "down"}`}>{visible(r.state)}</span>{" "}
              <span class="label">
                <Text of={r.version} />, rules revision {r.rules}
                {r.rules < newest && ", behind the others"}
                {r.self && ", this one"}
              </span>
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface OfferedProps {
  of: Server;
  connected: boolean;
  wanted: string;
  accept: ((tool: Tool) => Promise<unknown>) | null;
}

function Offered({ of, connected, wanted, accept }: OfferedProps) {
  const shown = of.offered
    .filter((t) => wanted === "" || `${t.tool} ${t.kind ?? ""} ${t.verdict}`.toLowerCase().includes(wanted))
    .sort((a, b) => Number(b.definitionChanged !== undefined) - Number(a.definitionChanged !== undefined));
  const empty = !connected ? "Its tools appear once a host connects." : of.offered.length === 0 ? "It offers no tools." : "No tool matches.";
  return (
    <section class="sheet server" aria-label={`Server ${visible(of.name)}`}>
      <header>
        <h3>
          <Text of={of.name} code />
        </h3>
        <span class={`status ${of.state}`}>{visible(of.state)}</span>
        <span class="label">{of.tools === 1 ? "1 tool" : `${of.tools} tools`}</span>
        {of.guard && (
          <span class="label">
            guard: <Text of={of.guard} />
          </span>
        )}
        {of.error && (
          <p class="failed">
            <Text of={of.error} />
          </p>
        )}
      </header>
      {shown.length === 0 && of.state !== "down" && <p class="empty">{empty}</p>}
      <ul class="lines">
        {shown.map((tool) => (
          <Line key={tool.tool} of={tool} server={of.name} accept={accept} />
        ))}
      </ul>
    </section>
  );
}

const verdicts: { [verdict: string]: string } = {
  allow: "runs",
  ask: "asks",
  confirm: "asks every time",
  deny: "denied",
  "by risk": "by risk",
};

function Line({ of, server, accept }: { of: Tool; server: string; accept: OfferedProps["accept"] }) {
  const changed = of.definitionChanged;
  const verdict = changed && of.verdict !== "deny" ? "confirm" : of.verdict;
  return (
    <li>
      <details open={changed !== undefined}>
        <summary>
          <span class="what">
            <Text of={of.tool} code />
          </span>
          <span class="kind" title={of.kind && !of.bound ? "A guess: it can only deny" : undefined}>
            {of.kind ? (
              <>
                <Text of={of.kind} code />
                {!of.bound && <span class="label"> guessed</span>}
              </>
            ) : (
              <span class="label">no kind</span>
            )}
          </span>
          {changed && <span class="status down">changed</span>}
          <span class={`verdict ${verdict.replace(" ", "-")}`}>{verdicts[verdict] ?? visible(verdict)}</span>
        </summary>
        <div class="more-of">
          {changed && <Change of={of} accept={accept} />}
          {of.description && (
            <p class="said">
              <Text of={of.description} />
            </p>
          )}
          <dl class="facts">
            <Fact name="Rule" value={of.rule} />
            {of.patterns > 0 && <Fact name="By value" value={of.patterns === 1 ? "1 rule looks at its arguments" : `${of.patterns} rules look at its arguments`} />}
            {of.kind && <Fact name={of.bound ? "Kind from" : "Kind guessed from"} value={of.why} />}
            {of.subjects && Object.keys(of.subjects).length > 0 && (
              <div>
                <dt>Judged</dt>
                <dd>
                  {Object.entries(of.subjects).map(([argument, role], i) => (
                    <>
                      {i > 0 && ", "}
                      <Mono of={argument} /> <span class="label"><Text of={role} /></span>
                    </>
                  ))}
                </dd>
              </div>
            )}
            {of.labels && <Fact name="Labels" value={told(of.labels)} />}
          </dl>
          {of.draft && <LabelForm key={of.hash} server={server} of={of} />}
        </div>
      </details>
    </li>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Text of={value} />
      </dd>
    </div>
  );
}

function Change({ of, accept }: { of: Tool; accept: OfferedProps["accept"] }) {
  const { old, new: fresh, why } = of.definitionChanged!;
  return (
    <section class="redefined" aria-label={`Definition of ${visible(of.tool)}`}>
      <p>
        <Text of={why} />
      </p>
      <Difference before={old === undefined ? undefined : indented(old)} after={indented(fresh)} whole />
      {accept && (
        <Twice
          label="Accept this definition…"
          question="Accept it for every host?"
          confirm="Accept it"
          act={() => accept(of)}
        />
      )}
    </section>
  );
}
