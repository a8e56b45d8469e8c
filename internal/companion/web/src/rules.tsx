import { useState } from "preact/hooks";
import { clock } from "./countdown";
import { Editor } from "./editor";
import { useLoaded } from "./load";
import { Mono, Page, Trouble, Twice } from "./parts";
import { Badge } from "./risk";
import type { State } from "./state";
import type { Store } from "./store";
import { Suggestions } from "./suggestions";
import { Text } from "./text";
import type { Grant, Problem, Rules as RulesData } from "./wire";
import { visible } from "./visible";

// Rules shows what decides without a person: the layers of rules, what people always allow, and the file itself.
export function Rules({ store, state }: { store: Store; state: State }) {
  const workers = [...new Set(state.sessions.map((s) => s.workerId))];
  const [worker, setWorker] = useState("");
  const chosen = workers.includes(worker) ? worker : (workers[0] ?? "");
  const [edited, setEdited] = useState<string | null>(null); // the query for the file in the editor, which outlives sessions
  const editing = edited !== null;
  const at = edited ?? (chosen && `?worker=${encodeURIComponent(chosen)}`);
  const { data, trouble, again } = useLoaded<RulesData>(store, `/api/rules${at}`, editing ? 0 : 5_000);
  return (
    <Page
      name="Rules"
      lead="Rules decide first. In each list the last matching rule wins, and a deny is final."
      beside={
        <div class="row">
          {workers.length > 1 && (
            <label class="field">
              Worker
              <select value={chosen} disabled={editing} onChange={(event) => setWorker(event.currentTarget.value)}>
                {workers.map((w) => (
                  <option value={w}>{visible(w)}</option>
                ))}
              </select>
            </label>
          )}
          {data && store.mayAnswer && !editing && (
            <button type="button" class="always" onClick={() => setEdited(at)}>
              Edit the file
            </button>
          )}
        </div>
      }
    >
      <Trouble of={trouble} />
      {data?.fault && !editing && (
        <div class="note danger" role="alert">
          <strong>The file is not valid, so everything is denied.</strong> Line {data.fault.line}, column {data.fault.column}:{" "}
          <Text of={data.fault.message} />
        </div>
      )}
      {data && editing && (
        <Editor
          store={store}
          of={data}
          at={at}
          done={() => {
            setEdited(null);
            again();
          }}
        />
      )}
      {data && !editing && (
        <>
          <Suggestions store={store} worker={data.worker} added={again} />
          <Grants store={store} worker={data.worker} />
          <Problems of={data.problems ?? []} />
          <Layers of={data} />
        </>
      )}
    </Page>
  );
}

function Layers({ of }: { of: RulesData }) {
  const layers = [...(of.layers ?? [])].sort((a, b) => Number(b.layer === "file") - Number(a.layer === "file"));
  return (
    <>
      {layers.map((layer) => (
        <details class="sheet" open={layer.layer === "file"} key={`${layer.layer} ${layer.name}`}>
          <summary>
            <h3>{layer.layer === "file" ? <Text of={layer.name} code /> : <>Agent <Text of={layer.name} code /></>}</h3>
            <span class="label">
              {layer.layer === "file" ? "" : "its denies are final, "}
              {layer.rules.length === 1 ? "1 rule" : `${layer.rules.length} rules`}
            </span>
          </summary>
          <div class="scroll" tabIndex={0} role="region" aria-label={`Rules of ${visible(layer.name)}`}>
            <table>
              <thead>
                <tr>
                  <th scope="col">Tool</th>
                  <th scope="col">Value</th>
                  <th scope="col">Action</th>
                  {layer.layer === "file" && <th scope="col" class="right">Line</th>}
                </tr>
              </thead>
              <tbody>
                {layer.rules.map((rule, i) => (
                  <tr class={rule.tool !== layer.rules[i - 1]?.tool ? "first" : ""}>
                    <td>{rule.tool !== layer.rules[i - 1]?.tool && <Mono of={rule.tool} />}</td>
                    <td>{rule.pattern === "*" ? <span class="label">anything</span> : <Mono of={rule.pattern} />}</td>
                    <td>
                      <span class={`verdict ${rule.action}`}>{visible(rule.action)}</span>
                    </td>
                    {layer.layer === "file" && <td class="right label">{visible(rule.place.split(":").at(-1) ?? "")}</td>}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </details>
      ))}
      <p class="label foot">
        <Text of={of.file} code />
      </p>
    </>
  );
}

function Grants({ store, worker }: { store: Store; worker: string }) {
  const { data, trouble, again } = useLoaded<{ grants: Grant[] }>(store, "/api/grants", 5_000);
  // Several processes of a worker list the same file.
  const all = new Map((data?.grants ?? []).filter((g) => g.workerId === worker).map((g) => [g.id, g]));
  const at = (g: Grant) => (g.sessionId ? `sessionId=${encodeURIComponent(g.sessionId)}` : `worker=${encodeURIComponent(worker)}`);
  return (
    <section class="sheet" aria-labelledby="grants">
      <header>
        <h3 id="grants">Always allowed</h3>
        <span class="label">grants from “always”: they never override a deny and cover nothing above their risk</span>
      </header>
      <Trouble of={trouble} />
      {data && all.size === 0 && <p class="empty">No grants yet.</p>}
      <ul class="lines grants">
        {[...all.values()].map((g) => (
          <li key={g.id} class={g.expired ? "expired" : ""}>
            <div class="grant">
              <p>
                <Mono of={g.tool} /> <strong><Mono of={g.pattern} /></strong> <span class="label">up to</span> <Badge risk={g.risk} short plain />
              </p>
              <p class="label">
                {g.server && <>server <Text of={g.server} />, </>}
                {g.workspace && <>in <Text of={g.workspace} code />, </>}
                {g.layer === "session" ? (g.sessionId ? <>session <Text of={g.sessionId} code /></> : "until callgate ends") : "every session"}
                {g.by && <>, by <Text of={g.by} /></>}
                {g.at && <>, {clock(g.at)}</>}
                {g.expires && <>, {g.expired ? "ended" : "ends"} {clock(g.expires)}</>}
              </p>
            </div>
            {store.mayAnswer && (
              <Twice
                label="Revoke…"
                question="Calls like this will ask again."
                confirm="Revoke"
                danger
                act={() => store.ask("DELETE", `/api/grants/${g.id}?${at(g)}`).finally(again)}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

// Problems lists rules that do not do what they seem to.
export function Problems({ of }: { of: Problem[] }) {
  if (of.length === 0) return null;
  return (
    <section class="sheet problems" aria-labelledby="problems">
      <header>
        <h3 id="problems">{of.length === 1 ? "One rule does" : `${of.length} rules do`} not do what {of.length === 1 ? "it seems" : "they seem"} to do</h3>
      </header>
      <ul class="lines">
        {of.map((p) => (
          <li>
            <p>
              <span class={`status ${p.severity === "warning" ? "starting" : ""}`}>{visible(p.severity)}</span> <Mono of={p.rule} />
            </p>
            <p>
              <Text of={p.why} />
            </p>
            <p class="label">
              <Text of={p.cure} />
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
