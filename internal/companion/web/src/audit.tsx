import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { clock } from "./countdown";
import { Page, Trouble } from "./parts";
import { Badge } from "./risk";
import { message, type Store } from "./store";
import { Text } from "./text";
import { visible } from "./visible";
import type { AuditEntry, Record, Session } from "./wire";

const decisions = ["auto_approved", "approved", "trusted", "rejected", "denied", "timeout", "cancelled", "limited"];
const limit = 200;

const spans: [label: string, hours: number][] = [
  ["the beginning", 0],
  ["an hour ago", 1],
  ["a day ago", 24],
  ["a week ago", 168],
];

interface Filter {
  session: string;
  decision: string;
  tool: string;
  hours: number; // how far back; 0 for all
}

// Audit shows the trail: what is on record that matches, and on top of it what is recorded while one looks.
export function Audit({ store, live, sessions }: { store: Store; live: AuditEntry[]; sessions: Session[] }) {
  const [filter, setFilter] = useState<Filter>({ session: "", decision: "", tool: "", hours: 0 });
  const [records, setRecords] = useState<Record[]>([]);
  const [trouble, setTrouble] = useState("");
  const [open, setOpen] = useState<Record | null>(null);
  const newest = live[0]?.timestamp ?? "";
  const asked = useRef(0); // timer of the next look at the log
  const latest = useRef(filter);
  latest.current = filter;
  const look = (after: number) => {
    if (asked.current !== 0) return; // however much is recorded, the log is read twice a second at most
    asked.current = window.setTimeout(() => {
      asked.current = 0;
      const wanted = latest.current;
      store.get<{ records: Record[] }>(`/api/audit?${query(wanted)}`).then(
        (found) => {
          if (wanted !== latest.current) return;
          setRecords(found.records);
          setTrouble("");
        },
        (error: unknown) => setTrouble(message(error)),
      );
    }, after);
  };
  useEffect(() => look(150), [filter]);
  useEffect(() => look(500), [newest]);
  useEffect(() => () => clearTimeout(asked.current), []);
  return (
    <Page
      name="Audit trail"
      lead="Every decision and outcome, chained by hashes. New records come up by themselves."
      beside={
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>
          Session
          <select value={filter.session} onChange={(event) => setFilter({ ...filter, session: event.currentTarget.value })}>
            <option value="">all</option>
            {sessions.map((s) => (
              <option value={s.sessionId}>{visible(s.client.name ? `${s.client.name}, ${s.sessionId}` : s.sessionId)}</option>
            ))}
          </select>
        </label>
        <label>
          Decision
          <select value={filter.decision} onChange={(event) => setFilter({ ...filter, decision: event.currentTarget.value })}>
            <option value="">all</option>
            {decisions.map((d) => (
              <option value={d}>{d.replace("_", " ")}</option>
            ))}
          </select>
        </label>
        <label>
          Tool
          <input
            type="search"
            placeholder="demo_*"
            value={filter.tool}
            spellcheck={false}
            onInput={(event) => setFilter({ ...filter, tool: event.currentTarget.value })}
          />
        </label>
        <label>
          Since
          <select value={filter.hours} onChange={(event) => setFilter({ ...filter, hours: Number(event.currentTarget.value) })}>
            {spans.map(([label, hours]) => (
              <option value={hours}>{label}</option>
            ))}
          </select>
        </label>
      </form>
      }
    >
      <Trouble of={trouble} />
      {records.length === 0 && !trouble && <p class="empty">Nothing is on record that matches.</p>}
      <div class="scroll trail" tabIndex={0} role="region" aria-label="Records">
        <table>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">What</th>
              <th scope="col">Risk</th>
              <th scope="col">Tool</th>
              <th scope="col">Summary</th>
              <th scope="col">By</th>
            </tr>
          </thead>
          <tbody>
            {records.map((r) => (
              <tr key={r.hash ?? r.seq}>
                <td>
                  <button type="button" class="link" onClick={() => setOpen(r)}>
                    {clock(r.time)}
                  </button>
                </td>
                <td>
                  <span class={`decision ${r.decision ?? r.event} ${r.isError || r.error ? "failed" : ""}`}>{name(r)}</span>
                </td>
                <td>{r.risk && <Badge risk={r.risk} short plain />}</td>
                <td>
                  <Text of={r.tool ?? ""} code />
                </td>
                <td class="wide">
                  <Text of={r.summary || r.reason || r.error || ""} />
                </td>
                <td>
                  <Text of={r.by ?? ""} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {open && <Details of={open} close={() => setOpen(null)} />}
    </Page>
  );
}

function query(filter: Filter): URLSearchParams {
  const query = new URLSearchParams({ limit: String(limit) });
  if (filter.session) query.set("sessionId", filter.session);
  if (filter.decision) query.set("decision", filter.decision);
  if (filter.tool.trim()) query.set("tool", filter.tool.trim());
  if (filter.hours > 0) query.set("since", new Date(Date.now() - filter.hours * 3_600_000).toISOString());
  return query;
}

function name(r: Record): string {
  if (r.event === "outcome") return r.isError || r.error ? "failed" : "ran";
  return visible((r.decision ?? r.event).replace("_", " "));
}

const facts: [label: string, key: keyof Record][] = [
  ["Decision", "decision"],
  ["By", "by"],
  ["Rule", "rule"],
  ["Reason", "reason"],
  ["Summary", "summary"],
  ["Error", "error"],
  ["Took (ms)", "durationMs"],
  ["Tool", "tool"],
  ["Kind", "kind"],
  ["Server", "server"],
  ["Session", "sessionId"],
  ["Agent", "agent"],
  ["Worker", "worker"],
  ["Call", "callId"],
  ["Arguments' digest", "digest"],
  ["Hash", "hash"],
  ["Hash before", "prev"],
];

function Details({ of, close }: { of: Record; close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="record">
      <header>
        <h2 id="record">
          Record {of.seq} <span class="label">{new Date(of.time).toLocaleString()}</span>
        </h2>
        {of.risk && <Badge risk={of.risk} />}
      </header>
      <dl class="record">
        {facts.map(([label, key]) =>
          of[key] === undefined || of[key] === "" ? null : (
            <div>
              <dt>{label}</dt>
              <dd>
                <Text of={String(of[key])} code={["digest", "hash", "prev", "callId", "tool"].includes(key)} />
              </dd>
            </div>
          ),
        )}
      </dl>
      {(of.subjects ?? []).length > 0 && (
        <>
          <h3>What was judged</h3>
          <ul class="reasons">
            {of.subjects?.map((s) => (
              <li>
                <Text of={s.kind || s.tool} code /> <Text of={s.value ?? ""} code /> <span class="label">{s.action}:</span> <Text of={s.rule ?? ""} />{" "}
                <Badge risk={s.risk} short />
              </li>
            ))}
          </ul>
        </>
      )}
      <form method="dialog" class="buttons">
        <button type="submit" autofocus>
          Close <kbd>Esc</kbd>
        </button>
      </form>
    </dialog>
  );
}
