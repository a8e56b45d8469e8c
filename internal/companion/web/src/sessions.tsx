import { useState } from "preact/hooks";
import { clock } from "./countdown";
import { Page } from "./parts";
import { pending, type State } from "./state";
import { href } from "./route";
import { Text } from "./text";
import { visible } from "./visible";
import type { Agent, Session } from "./wire";
import { Where } from "./where";

const levels: [level: string, words: string][] = [
  ["NONE", "rules alone decide"],
  ["MANUAL", "every call asks"],
  ["CAUTIOUS", "reading (git status, ls) and building and testing (npm test, make) run; writing files, git commit and the network (git push) ask"],
  ["GUIDED", "reading, undoable changes to your own data, and sending to destinations you named run; the rest asks"],
  ["SUPERVISED", "reading, writing in the project, npm test and git commit run; git push and high risk ask"],
  ["FULL_AUTO", "everything runs unless a rule denies it"],
  ["ask-on-write", "reading (git status, ls) runs; writing, npm test, git commit and the network ask"],
  ["ask-on-external", "reading and writing files in the project run; npm test, git commit and the network ask"],
  ["allow-safe-readonly", "the same as ask-on-write: reading (git status, ls) runs, the rest asks"],
];

interface Props {
  state: State;
  mayAnswer: boolean;
  setAutonomy(session: string, level: string): void;
  cancel(session: string): void;
  freeze(): void;
}

// Sessions is the roster: who is connected, what they are doing, and how much runs without a person.
export function Sessions(props: Props) {
  const { sessions } = props.state;
  return (
    <Page
      name="Sessions"
      lead="Connected hosts, what they do, and how much they may run without you."
      beside={
        props.mayAnswer &&
        !props.state.frozen && (
          <button type="button" class="small" onClick={props.freeze} title="Refuses every call that writes, sends or runs, until someone unfreezes">
            Freeze all sessions
          </button>
        )
      }
    >
      {sessions.length === 0 && <p class="empty">No host is connected.</p>}
      <div class="cards">
        {sessions.map((s) => (
          <Card key={s.sessionId} of={s} {...props} />
        ))}
      </div>
    </Page>
  );
}

function Card({ of, state, mayAnswer, setAutonomy, cancel }: Props & { of: Session }) {
  const [wanted, setWanted] = useState<string | null>(null);
  const [ending, setEnding] = useState(false);
  const level = wanted ?? of.autonomy;
  const waiting = pending(state).filter((a) => a.request.sessionId === of.sessionId).length;
  const words = levels.find(([name]) => name === level)?.[1] ?? "";
  return (
    <article class="card" aria-label={`Session ${of.sessionId}`}>
      <header>
        <h3>
          <Where client={of.client} origin={of.origin} agent={of.agentId} worker={of.workerId} />
        </h3>
        <span class={`status ${of.status}`}>{visible(of.status)}</span>
      </header>
      <dl class="facts">
        <div>
          <dt>Mode</dt>
          <dd>{visible(of.mode)}</dd>
        </div>
        <div>
          <dt>Waiting</dt>
          <dd>{waiting}</dd>
        </div>
        <div>
          <dt>Since</dt>
          <dd>{clock(of.createdAt)}</dd>
        </div>
        <div>
          <dt>Last activity</dt>
          <dd>{clock(of.lastActivity)}</dd>
        </div>
      </dl>
      <p class="links">
        <a href={href("chat", of.sessionId)}>Chat with its model</a>
        <a href={href("audit", "", new URLSearchParams({ sessionId: of.sessionId }))}>Its calls</a>
      </p>
      <details class="ids">
        <summary>Ids</summary>
        <p class="label">
          <Text of={of.client.version ? `version ${of.client.version}, ` : ""} />
          session <Text of={of.sessionId} code />, agent <Text of={of.agentId} code />, worker <Text of={of.workerId} code />
        </p>
      </details>
      {(of.agents ?? []).length > 1 && (
        <ul class="agents" aria-label="Agents">
          {of.agents?.slice(1).map((agent) => (
            <Member key={agent.agentId} of={agent} />
          ))}
        </ul>
      )}
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          setAutonomy(of.sessionId, level);
          setWanted(null);
        }}
      >
        <label for={`autonomy ${of.sessionId}`}>Autonomy</label>
        <select
          id={`autonomy ${of.sessionId}`}
          value={level}
          disabled={!mayAnswer}
          onChange={(event) => setWanted(event.currentTarget.value)}
        >
          {levels.map(([name]) => (
            <option value={name}>{name === "NONE" ? "not set" : name}</option>
          ))}
        </select>
        {wanted !== null && wanted !== of.autonomy && (
          <>
            <button type="submit" class={wanted === "FULL_AUTO" ? "danger" : "always"}>
              Set {wanted === "NONE" ? "to not set" : wanted}
            </button>
            <button type="button" onClick={() => setWanted(null)}>
              Back
            </button>
          </>
        )}
      </form>
      <p class="label">{words}</p>
      {mayAnswer &&
        (ending ? (
          <div class="row" role="group" aria-label="Cancel running and pending calls">
            <span>Cancel its running calls and withdraw its pending approvals?</span>
            <button
              type="button"
              class="danger"
              onClick={() => {
                cancel(of.sessionId);
                setEnding(false);
              }}
            >
              Cancel them
            </button>
            <button type="button" onClick={() => setEnding(false)}>
              Back
            </button>
          </div>
        ) : (
          <button type="button" class="small" onClick={() => setEnding(true)}>
            Cancel running and pending calls…
          </button>
        ))}
    </article>
  );
}

// Member is an agent that a client registered.
function Member({ of }: { of: Agent }) {
  return (
    <li>
      <Text of={of.role} />{" "}
      <span class="label">
        <Text of={of.agentId} code />
      </span>
      {of.status && <span class={`status ${of.status}`}>{visible(of.status)}</span>}
      {of.goal && <Said of={of.goal} />}
      {of.domain && <Said name="Domain" of={of.domain} />}
      {(of.provider || of.model) && <Said name="Model" of={[of.provider, of.model].filter(Boolean).join(" ")} />}
      {of.roles?.map((role) => (
        <Said name="Also" of={[role.name, role.domain, role.goal].filter(Boolean).join(", ")} />
      ))}
    </li>
  );
}

function Said({ name, of }: { name?: string; of: string }) {
  return (
    <p class="label">
      {name && `${name}: `}
      <Text of={of} />
    </p>
  );
}
