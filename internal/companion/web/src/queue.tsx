import { Countdown, clock } from "./countdown";
import { Badge } from "./risk";
import { needsPerson, pending, words, type Approval, type Outcome, type State } from "./state";
import { Text } from "./text";
import { Where } from "./where";

interface Props {
  state: State;
  viewOnly: boolean;
  selected: Set<string>;
  select(id: string, on: boolean): void;
  look(id: string): void;
  approveSelected(): void;
}

// maxSelected keeps a selection small enough to read, and its answers below the server's rate limit.
export const maxSelected = 30;

// Queue lists the pending approvals, by session and in order of arrival: nothing moves under the pointer.
export function Queue(props: Props) {
  const waiting = pending(props.state);
  const groups = [...Map.groupBy(waiting, (a) => a.request.sessionId)];
  const selected = waiting.filter((a) => props.selected.has(a.request.toolCallId) && needsPerson(a) === "");
  return (
    <nav class="queue" aria-label="Waiting approvals">
      <h2 class="list-title">
        Waiting <span class="count">{waiting.length}</span>
      </h2>
      {groups.map(([session, approvals]) => (
        <section aria-label={`Session ${session}`}>
          <h3 class="group">
            <SessionName id={session} state={props.state} />
          </h3>
          <ul>
            {approvals.map((a) => (
              <Item of={a} {...props} />
            ))}
          </ul>
        </section>
      ))}
      <Outcomes of={props.state.outcomes} />
      {selected.length > 0 && (
        <section class="bulk" aria-label="Selection">
          <p role="status">
            <strong>{selected.length} selected</strong>
          </p>
          <details>
            <summary>Show</summary>
            <ul>
              {selected.map((a) => (
                <li>
                  <Badge risk={a.request.risk.class} short /> <Text of={a.request.summary} />
                </li>
              ))}
            </ul>
          </details>
          <div class="buttons">
            <button type="button" onClick={() => selected.forEach((a) => props.select(a.request.toolCallId, false))}>
              Clear
            </button>
            <button type="button" class="approve" onClick={props.approveSelected}>
              Approve {selected.length}
            </button>
          </div>
        </section>
      )}
    </nav>
  );
}

function Item({ of, state, viewOnly, selected, select, look }: Props & { of: Approval }) {
  const { toolCallId: id, tool, summary, risk, createdAt, expiresAt } = of.request;
  const alone = needsPerson(of);
  const full = selected.size >= maxSelected && !selected.has(id);
  return (
    <li class={`item ${risk.label} ${state.current === id ? "current" : ""} ${of.stale ? "stale" : ""}`}>
      {!viewOnly && (
        <input
          type="checkbox"
          checked={selected.has(id)}
          disabled={alone !== "" || full}
          title={alone}
          aria-label={`Select ${tool}${alone ? `: ${alone}` : ""}`}
          onChange={(event) => select(id, event.currentTarget.checked)}
        />
      )}
      <button type="button" class="open" aria-current={state.current === id ? "true" : undefined} onClick={() => look(id)}>
        <span class="item-top">
          <Badge risk={risk.class} short />
          <span class="item-tool">
            <Text of={tool} code />
          </span>
          <Countdown created={createdAt} expires={expiresAt} />
        </span>
        <span class="item-summary">
          <Text of={summary} />
        </span>
        {(of.request.marks ?? []).length > 0 && <span class="item-mark">needs a person</span>}
      </button>
    </li>
  );
}

// SessionName names a session by where its calls come from, or by its id if nothing else is known.
export function SessionName({ id, state }: { id: string; state: State }) {
  const session = state.sessions.find((s) => s.sessionId === id);
  const request = state.approvals.find((a) => a.request.sessionId === id)?.request;
  const client = session?.client ?? request?.client;
  if (!client?.name)
    return (
      <span class="label">
        <Text of={id} code />
      </span>
    );
  return <Where client={client} origin={session?.origin ?? request?.origin} worker={session?.workerId ?? request?.workerId} short />;
}

function Outcomes({ of }: { of: Outcome[] }) {
  if (of.length === 0) return null;
  return (
    <section class="outcomes" aria-label="Just decided">
      <h2 class="list-title">Just decided</h2>
      <ul>
        {of.slice(0, 12).map((o) => (
          <li key={o.id}>
            <span class={`decision ${o.decision}`}>{words(o.decision)}</span> <Text of={o.tool} code />
            {o.by.startsWith("cascade:") ? (
              <p class="cascade">released by the same “always” from <Text of={o.by.slice("cascade:".length)} /></p>
            ) : (
              <p class="label">
                {clock(o.at)}
                {o.by && (
                  <>
                    , by <Text of={o.by} />
                  </>
                )}
              </p>
            )}
            {o.state === "running" && <p class="label">running</p>}
            {o.state === "done" && <p class="label">ran, {o.duration} ms</p>}
            {o.state === "failed" && <p class="failed">ran and failed, {o.duration} ms</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}
