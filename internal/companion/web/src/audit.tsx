import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { clock } from "./countdown";
import { csv, jsonl, save } from "./export";
import { Page, Trouble } from "./parts";
import { Badge } from "./risk";
import { go, href, routeOf, type Route } from "./route";
import { message, type Store } from "./store";
import { Text } from "./text";
import { joined, type Found, type Trail } from "./trail";
import { visible } from "./visible";
import type { AuditEntry, Record } from "./wire";
import { Where } from "./where";

const decisions = ["auto_approved", "approved", "trusted", "rejected", "denied", "timeout", "cancelled", "limited", "pending"];
const limit = 200;
const most = 20_000; // records of one export

const spans: [label: string, hours: number][] = [
  ["the beginning", 0],
  ["an hour ago", 1],
  ["12 hours ago", 12],
  ["a day ago", 24],
  ["a week ago", 168],
];

// Audit shows the trail, one row a call: who asked for what, what was decided and why, and how it ended. The filters
// are in the address, so they survive a reload and can be shared. waiting lists the calls that can be answered.
export function Audit({ store, live, waiting, route }: { store: Store; live: AuditEntry[]; waiting: string[]; route: Route }) {
  const [found, setFound] = useState<Trail>({ records: [], filter: "", more: false });
  const [trouble, setTrouble] = useState("");
  const [busy, setBusy] = useState(false);
  const newest = live[0]?.timestamp ?? "";
  const asked = useRef(0); // timer of the next read
  const filter = route.query.toString();
  const latest = useRef(filter);
  latest.current = filter;
  const look = (after: number) => {
    if (asked.current !== 0) return; // the log is read at most twice a second, no matter how much is recorded
    asked.current = window.setTimeout(() => {
      asked.current = 0;
      if (!store.open) return;
      const wanted = latest.current;
      store.get<Found>(`/api/audit?${asks(new URLSearchParams(wanted), limit)}`).then(
        (answer) => {
          if (wanted !== latest.current) return;
          setFound((was) => joined(was, answer, wanted));
          setTrouble("");
        },
        (error: unknown) => setTrouble(message(error)),
      );
    }, after);
  };
  useEffect(() => look(150), [filter, store.open]);
  useEffect(() => look(500), [newest]);
  useEffect(() => () => clearTimeout(asked.current), []);
  const set = (name: string, value: string) => {
    const next = routeOf(location.hash).query; // the display may lag behind the address
    if (value) next.set(name, value);
    else next.delete(name);
    go(href("audit", "", next), true);
  };
  const more = async () => {
    setBusy(true);
    const wanted = latest.current;
    const after = found.next;
    try {
      const older = await store.get<Found>(`/api/audit?${asks(new URLSearchParams(wanted), limit, after)}`);
      // If the filter or the list has changed meanwhile, these records do not continue it.
      setFound((was) => (wanted === latest.current && was.next === after ? { next: undefined, ...older, filter: wanted, more: true, records: [...was.records, ...older.records] } : was));
    } catch (error) {
      setTrouble(message(error));
    }
    setBusy(false);
  };
  const write = async (kind: "jsonl" | "csv") => {
    setBusy(true);
    try {
      const all: Record[] = [];
      for (let next: string | undefined = ""; next !== undefined && all.length < most; ) {
        const page: Found = await store.get<Found>(`/api/audit?${asks(route.query, 1000, next)}`);
        all.push(...page.records);
        next = page.next;
      }
      if (kind === "csv") save("callgate-audit.csv", "text/csv", csv(all));
      else save("callgate-audit.jsonl", "application/jsonl", jsonl(all));
    } catch (error) {
      setTrouble(message(error));
    }
    setBusy(false);
  };
  const days = [...Map.groupBy(found.records, (r) => day(r.time))];
  return (
    <Page
      name="Audit trail"
      lead="Every call with its decision and outcome. New calls appear by themselves."
      beside={
        <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
          <label>
            Search
            <input type="search" placeholder="any text" value={route.query.get("q") ?? ""} spellcheck={false} onInput={(event) => set("q", event.currentTarget.value)} />
          </label>
          <label>
            Decision
            <select value={route.query.get("decision") ?? ""} onChange={(event) => set("decision", event.currentTarget.value)}>
              <option value="">all</option>
              {decisions.map((d) => (
                <option value={d}>{d.replace("_", " ")}</option>
              ))}
            </select>
          </label>
          <label>
            Since
            <select value={route.query.get("hours") ?? ""} onChange={(event) => set("hours", event.currentTarget.value)}>
              {spans.map(([label, hours]) => (
                <option value={hours || ""}>{label}</option>
              ))}
            </select>
          </label>
          <div class="exports" role="group" aria-label="Export">
            <button type="button" class="small" aria-disabled={busy} onClick={() => !busy && void write("csv")}>
              CSV
            </button>
            <button type="button" class="small" aria-disabled={busy} onClick={() => !busy && void write("jsonl")}>
              JSONL
            </button>
          </div>
        </form>
      }
    >
      <Trouble of={trouble} />
      {found.records.length === 0 && !trouble && <p class="empty">No calls match.</p>}
      {days.map(([name, records]) => (
        <section class="day" aria-label={name}>
          <h3 class="group">{name}</h3>
          <ul class="calls">
            {records.map((r) => (
              <Row key={r.hash} of={r} waiting={waiting} filter={route.query} />
            ))}
          </ul>
        </section>
      ))}
      {found.next && (
        <button type="button" class="more" aria-disabled={busy} onClick={() => !busy && void more()}>
          Show older
        </button>
      )}
      {route.id && <Details key={route.id} store={store} id={route.id} waiting={waiting} known={found.records.find((r) => r.callId === route.id)} close={() => go(href("audit", "", routeOf(location.hash).query))} />}
    </Page>
  );
}

function Row({ of, waiting, filter }: { of: Record; waiting: string[]; filter: URLSearchParams }) {
  return (
    <li>
      <a class="call" href={href("audit", of.callId ?? "", filter)}>
        <time dateTime={of.time}>{clock(of.time)}</time>
        <span class="call-what">
          <span class="call-line">
            <span class={`decision ${of.decision ?? of.event}`}>{decided(of, waiting)}</span>
            <Outcome of={of} />
            {of.risk && <Badge risk={of.risk} short plain />}
            <Text of={of.tool ?? ""} code />
          </span>
          <span class="call-summary">
            <Text of={of.summary || "a call that could not be read"} />
          </span>
          <span class="label call-line">
            {(of.host || of.project) && <Where client={{ name: of.host ?? "", principal: of.principal }} origin={{ folder: of.project }} short />}
            <span>
              <Text of={of.reason || (of.by ? `by ${of.by}` : "")} />
            </span>
          </span>
        </span>
      </a>
    </li>
  );
}

function Outcome({ of }: { of: Record }) {
  const { outcome } = of;
  if (!outcome) return of.decision === "auto_approved" || of.decision === "approved" || of.decision === "trusted" ? <span class="label">no outcome yet</span> : null;
  const failed = outcome.isError || outcome.error;
  return (
    <span class={failed ? "decision failed" : "label"}>
      {failed ? "failed" : "ran"} {took(outcome.durationMs)}
      {outcome.resultBytes ? `, ${bytes(outcome.resultBytes)}` : ""}
    </span>
  );
}

function decided(r: Record, waiting: string[]): string {
  if (r.event === "asked") return waiting.includes(r.callId ?? "") ? "waits for an answer" : "asked, no answer";
  return visible((r.decision ?? r.event).replace("_", " "));
}

function took(ms: number | undefined): string {
  if (ms === undefined) return "";
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function bytes(n: number): string {
  return n < 1024 ? `${n} B` : n < 1024 * 1024 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / 1024 / 1024).toFixed(1)} MiB`;
}

function day(time: string): string {
  const date = new Date(time);
  const words = date.toLocaleDateString(undefined, { weekday: "long", year: "numeric", month: "long", day: "numeric" });
  return date.toDateString() === new Date().toDateString() ? `Today, ${words}` : words;
}

// asks returns the query for a page of calls.
function asks(filter: URLSearchParams, limit: number, before = ""): URLSearchParams {
  const query = new URLSearchParams({ calls: "true", limit: String(limit) });
  for (const name of ["q", "decision", "sessionId", "tool"]) {
    const value = filter.get(name)?.trim();
    if (value) query.set(name, value);
  }
  const hours = Number(filter.get("hours"));
  if (hours > 0) query.set("since", new Date(Date.now() - hours * 3_600_000).toISOString());
  if (before) query.set("before", before);
  return query;
}

const facts: [label: string, key: keyof Record][] = [
  ["Reason", "reason"],
  ["By", "by"],
  ["From", "from"],
  ["Rule", "rule"],
  ["Host", "host"],
  ["Project", "project"],
  ["Tool", "tool"],
  ["Kind", "kind"],
  ["Server", "server"],
];

const ids: [label: string, key: keyof Record][] = [
  ["Record", "seq"],
  ["Session", "sessionId"],
  ["Agent", "agent"],
  ["Worker", "worker"],
  ["Call", "callId"],
  ["Repeats the approved call", "approval"],
  ["Arguments' digest", "digest"],
  ["Hash", "hash"],
  ["Hash before", "prev"],
];

// Details shows one call in full. It has its own address, and is fetched if the list does not have it.
function Details({ store, id, waiting, known, close }: { store: Store; id: string; waiting: string[]; known: Record | undefined; close(): void }) {
  const [of, setOf] = useState<Record | undefined>(known);
  const [trouble, setTrouble] = useState("");
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    if (known) setOf(known);
    else if (store.open)
      store.get<Found>(`/api/audit?${new URLSearchParams({ calls: "true", q: id, limit: "20" })}`).then(
        ({ records }) => {
          const one = records.find((r) => r.callId === id) ?? records[0]; // calls that repeat it name it too
          if (one) setOf(one);
          else setTrouble("No such record.");
        },
        (error: unknown) => setTrouble(message(error)),
      );
  }, [id, known, store.open]);
  return (
    <dialog ref={dialog} class="record-dialog" onClose={close} aria-labelledby="record">
      <Trouble of={trouble} />
      {of && (
        <>
          <header>
            <h2 id="record">
              <span class={`decision ${of.decision ?? ""}`}>{decided(of, waiting)}</span> <span class="label">{new Date(of.time).toLocaleString()}</span>
            </h2>
            {of.risk && <Badge risk={of.risk} />}
          </header>
          <p class="summary">
            <Text of={of.summary ?? ""} />
          </p>
          {of.outcome && (
            <p>
              <Outcome of={of} /> <Text of={of.outcome.error ?? ""} />
            </p>
          )}
          <Facts of={of} facts={facts} />
          {of.arguments !== undefined && (
            <>
              <h3>Arguments</h3>
              <pre class="json">
                <Text of={JSON.stringify(of.arguments, null, 2)} code />
              </pre>
            </>
          )}
          {(of.subjects ?? []).length > 0 && (
            <>
              <h3>Judged parts</h3>
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
          <details>
            <summary>Ids and hashes</summary>
            <Facts of={of} facts={ids} />
          </details>
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

function Facts({ of, facts }: { of: Record; facts: [label: string, key: keyof Record][] }) {
  return (
    <dl class="record">
      {facts.map(([label, key]) =>
        of[key] === undefined || of[key] === "" ? null : (
          <div>
            <dt>{label}</dt>
            <dd>
              <Text of={String(of[key])} code={["digest", "hash", "prev", "callId", "approval", "tool", "project"].includes(key)} />
            </dd>
          </div>
        ),
      )}
    </dl>
  );
}
