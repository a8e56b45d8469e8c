// Small parts that several views use.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { message } from "./store";
import { Text } from "./text";
import { visible } from "./visible";
import type { Session } from "./wire";

// Page is a view with a heading, and with choices or filters beside it.
export function Page({ name, lead, beside, children }: { name: string; lead?: string; beside?: ComponentChildren; children: ComponentChildren }) {
  const id = name.toLowerCase().replaceAll(" ", "-");
  return (
    <section class="page" aria-labelledby={id}>
      <header class="page-head">
        <div>
          <h2 id={id}>{name}</h2>
          {lead && <p class="lead">{lead}</p>}
        </div>
        {beside}
      </header>
      {children}
    </section>
  );
}

export function Trouble({ of }: { of: string }) {
  if (of === "") return null;
  return (
    <p class="note refused" role="alert">
      <Text of={of} />
    </p>
  );
}

export function Mono({ of }: { of: string }) {
  return (
    <code>
      <Text of={of} code />
    </code>
  );
}

// Twice is a button that asks for confirmation before it acts, and says what will happen.
export function Twice(props: { label: string; question: string; confirm: string; danger?: boolean; act(): Promise<unknown> | void }) {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  const whole = useRef<HTMLDivElement>(null);
  const was = useRef(asking);
  useLayoutEffect(() => {
    if (was.current !== asking) whole.current?.querySelector("button")?.focus({ preventScroll: true }); // the pressed button is gone
    was.current = asking;
  }, [asking]);
  const act = async () => {
    setBusy(true);
    setTrouble("");
    try {
      await props.act();
    } catch (error) {
      setTrouble(message(error));
    }
    setBusy(false);
    setAsking(false);
  };
  return (
    <div class="twice" ref={whole}>
      {asking ? (
        <div class="row" role="group" aria-label={props.question}>
          <span>{props.question}</span>
          <button type="button" onClick={() => setAsking(false)}>
            Back
          </button>
          <button type="button" class={props.danger ? "danger" : "always"} aria-disabled={busy} onClick={() => !busy && void act()}>
            {props.confirm}
          </button>
        </div>
      ) : (
        <button type="button" class="small" onClick={() => setAsking(true)}>
          {props.label}
        </button>
      )}
      <Trouble of={trouble} />
    </div>
  );
}

// SessionChoice lets a person choose a session if there are several.
export function SessionChoice({ sessions, chosen, choose, all }: { sessions: Session[]; chosen: string; choose(id: string): void; all?: string }) {
  if (sessions.length < 2 && all === undefined) return null;
  return (
    <label class="field">
      Session
      <select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        {all !== undefined && <option value="">{all}</option>}
        {sessions.map((s) => (
          <option value={s.sessionId}>{visible(s.client.name ? `${s.client.name}, ${s.sessionId}` : s.sessionId)}</option>
        ))}
      </select>
    </label>
  );
}
