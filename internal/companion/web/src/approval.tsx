import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { AlwaysPanel, briefly, suggested } from "./always";
import { useChanges, type Compare } from "./changes";
import { Countdown } from "./countdown";
import { Difference } from "./difference";
import { EditPanel } from "./edit";
import { format } from "./json";
import { JsonTree } from "./jsonview";
import { Definition, Readable } from "./readable";
import { RejectPanel } from "./reject";
import { Badge, meaning, warning } from "./risk";
import { shownBytes, shownLines, unseen, words, type Approval } from "./state";
import { Text } from "./text";
import type { Answer } from "./wire";
import { Where } from "./where";

export type Panel = "" | "reject" | "always" | "rule" | "edit";

interface Props {
  of: Approval;
  mayAnswer: boolean;
  viewOnly: boolean;
  resting: boolean; // the prompt has just come up, so nothing counts yet
  panel: Panel;
  open(panel: Panel): void;
  view(): void;
  reached(): void;
  toEnd(): void;
  answer(answer: Answer): void;
  next(): void;
  like: Approval[]; // pending approvals of the same kind in the session, this one included
  selectLike(): void;
  compare: Compare | null; // asks how files would change; null if the person may not know
}

const writing = new Set(["write_file", "edit_file"]);

// Detail shows one approval in full, with everything that a person needs to answer it.
export function Detail(props: Props) {
  const { request, raw, args, viewed } = props.of;
  const heading = useRef<HTMLHeadingElement>(null);
  // The focused element is gone when another approval replaces it. An answer button must never get the focus.
  useLayoutEffect(() => {
    if (document.activeElement === document.body || document.activeElement === null) heading.current?.focus({ preventScroll: true });
    heading.current?.scrollIntoView({ block: "nearest" });
  }, [request.toolCallId]);
  const onDisk = useChanges(request.toolCallId, request.argsDigest, writing.has(request.kind) && !props.of.over ? props.compare : null);
  const lines = viewed ? Infinity : shownLines;
  const bytes = viewed ? Infinity : shownBytes;
  return (
    <article class={`detail ${request.risk.label}`} aria-labelledby="tool">
      <header>
        <div class="headline">
          <Badge risk={request.risk.class} />
          {request.risk.category && (
            <span class="label category">
              <Text of={request.risk.category} />
            </span>
          )}
          {!props.of.over && <Countdown created={request.createdAt} expires={request.expiresAt} bar />}
        </div>
        <p class="from">
          <Where client={request.client ?? { name: "" }} origin={request.origin} agent={request.agentId} worker={request.workerId} />
        </p>
        <h2 id="tool" ref={heading} tabIndex={-1}>
          <Text of={request.tool} code />
        </h2>
        {!told(props.of) && (
          <p class="summary">
            <Text of={request.summary} />
          </p>
        )}
      </header>
      <Notes of={props.of} next={props.next} />
      {request.presence && !props.of.over && <p class="label">Approving needs your passkey.</p>}
      {request.undo && !props.of.over && (
        <p class={`undo ${request.undo.kept ? "kept" : "unkept"}`}>
          <Text of={request.undo.text} />
        </p>
      )}
      {props.of.definition && <Definition of={props.of.definition} limit={lines} />}
      {props.of.rewritten && args && (
        <section aria-labelledby="rewritten">
          <h3 id="rewritten">
            Changes that the hook <Text of={props.of.rewritten.by} /> made to the arguments
          </h3>
          <Difference before={props.of.rewritten.original} after={format(args)} limit={lines} whole />
        </section>
      )}
      <section aria-labelledby="arguments">
        <Readable of={props.of} limit={lines} onDisk={onDisk} />
        <h3 id="arguments">Exact arguments</h3>
        {args ? (
          <JsonTree key={`${request.toolCallId} ${request.argsDigest} ${viewed}`} of={args} lines={lines} bytes={bytes} fold={!viewed} quotes={quotesOf(props.of)} />
        ) : (
          <pre class="json">
            <Text of={raw.slice(0, bytes)} code />
          </pre>
        )}
        {unseen(props.of) === "end" && <End reached={props.reached} />}
        {!viewed && (
          <button type="button" class="reveal" onClick={props.view}>
            Show all {raw.length.toLocaleString()} characters <kbd>v</kbd>
          </button>
        )}
      </section>
      <Why of={props.of} />
      <details class="ids">
        <summary>Details and ids</summary>
        <dl class="facts">
          <Fact name="Server" value={request.server} />
          {request.kind && <Fact name="Kind" value={request.kind} />}
          <Fact name="Agent" value={request.agentId} />
          <Fact name="Worker" value={request.workerId} />
          <Fact name="Session" value={request.sessionId} />
          <Fact name="Approval" value={request.toolCallId} />
        </dl>
      </details>
      {props.like.length > 1 && !props.of.over && !props.viewOnly && <Like of={props.like} select={props.selectLike} />}
      {!props.of.over && !props.viewOnly && <Actions {...props} />}
    </article>
  );
}

// End marks the end of the arguments. It calls reached when it is on the screen and not covered.
function End({ reached }: { reached(): void }) {
  const mark = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const end = mark.current!; // look may still run when it is already gone from the page
    const look = () => {
      const { left, top, height } = end.getBoundingClientRect();
      if (!document.hidden && document.elementFromPoint(left, top + height / 2) === end) reached();
    };
    look();
    const over = new AbortController();
    for (const kind of ["scroll", "resize", "toggle", "visibilitychange"]) window.addEventListener(kind, look, { capture: true, signal: over.signal });
    return () => over.abort();
  });
  return <div class="end-mark" ref={mark} />;
}

// quotesOf returns the words of the arguments that the marks are about.
function quotesOf(of: Approval): string[] {
  return (of.request.marks ?? []).flatMap((m) => m.quote ?? []);
}

// told reports whether the commands below already say what the summary says.
function told(of: Approval): boolean {
  return (of.request.commands ?? []).length > 0 && of.args !== null;
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Text of={value} code />
      </dd>
    </div>
  );
}

const endings: { [decision: string]: string } = { over: "This is no longer pending.", timeout: "This timed out." };

// Notes shows what a person must not overlook.
function Notes({ of, next }: { of: Approval; next(): void }) {
  const { request, over } = of;
  const danger = warning(request.risk.class);
  return (
    <>
      {over && (
        <div class="note over" role="status">
          <span>
            <strong>{endings[over.decision] ?? `This was ${words(over.decision)}`}</strong>
            {over.by && over.by !== over.decision && (
              <>
                {" "}
                by <Text of={over.by} />.
              </>
            )}{" "}
            <Text of={over.reason} />
          </span>
          <button type="button" onClick={next}>
            Next <kbd>j</kbd>
          </button>
        </div>
      )}
      {of.refused && !over && (
        <div class="note refused" role="alert">
          <strong>It still waits.</strong> <Text of={of.refused} />
        </div>
      )}
      {of.changed && !over && (
        <div class="note changed">
          <strong>The arguments changed</strong> since the first question. The call would run with what you see now.
        </div>
      )}
      {danger && (
        <div class="note danger">
          <strong>{request.risk.label === "critical" ? "Critical" : "High risk"}.</strong> {danger}
        </div>
      )}
      {(request.marks ?? []).map((mark) => (
        <div class="note mark">
          <strong>Only you can approve this.</strong> <Text of={mark.text} /> <span class="label">({<Text of={mark.code} code />})</span>
          {mark.from && (
            <p class="label">
              {mark.quote && (
                <>
                  <mark>
                    <Text of={mark.quote} code />
                  </mark>{" "}
                  comes from
                </>
              )}{" "}
              the server <Text of={mark.from.server} />, call <Text of={mark.from.toolCallId} code /> of <Text of={mark.from.tool} code /> at {new Date(mark.from.at).toLocaleTimeString()}
            </p>
          )}
        </div>
      ))}
      {request.prompt && !over && (
        <p class="asked-for">
          <span class="label">You asked for:</span> <Text of={request.prompt} />
        </p>
      )}
      {of.stale && (
        <div class="note" role="status">
          Reconnected. Checking whether this is still pending.
        </div>
      )}
    </>
  );
}

function Why({ of }: { of: Approval }) {
  const { reason, reasons, description } = of.request;
  return (
    <section class="why" aria-labelledby="why">
      <h3 id="why">Why you are asked</h3>
      <p>
        <Text of={reason || "No rule or grant allows this call."} />
      </p>
      {reasons.length > 0 && (
        <ul class="reasons">
          {reasons.map((r) => (
            <li>
              <Text of={r.subject} code />
              <span class="label"> {r.action === "confirm" ? "must be confirmed" : r.action === "allow" ? "is allowed" : r.action === "deny" ? "is denied" : "asks"}: </span>
              <Text of={r.rule || "no rule"} />
              {r.layer && !r.rule.includes(r.layer) && (
                <span class="label">
                  {" "}
                  (<Text of={r.layer} />)
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
      {description && (
        <p class="label">
          The server’s description: <Text of={description} />
        </p>
      )}
    </section>
  );
}

// Like lists the other pending calls of the same kind, with their differences.
function Like({ of, select }: { of: Approval[]; select(): void }) {
  return (
    <details class="like">
      <summary>{of.length} like this wait</summary>
      <ul class="reasons">
        {of.map((a) => (
          <li key={a.request.toolCallId}>
            <Text of={a.request.summary} />
          </li>
        ))}
      </ul>
      <button type="button" onClick={select}>
        Select these {of.length} to answer them together
      </button>
    </details>
  );
}

function Actions(props: Props) {
  const { of, panel, open, resting } = props;
  const bar = useRef<HTMLDivElement>(null);
  const last = useRef<Panel>("");
  // Closing a panel returns the focus to the button that opened it.
  useLayoutEffect(() => {
    if (panel === "" && last.current !== "") bar.current?.querySelector<HTMLElement>(`[data-opens="${last.current}"]`)?.focus();
    last.current = panel;
  }, [panel]);
  const idle = !props.mayAnswer || of.sent !== "" || of.stale;
  const before = unseen(of);
  const unread = before !== "";
  const off = resting || idle;
  const hint = !props.mayAnswer
    ? "Not connected: you cannot answer now."
    : of.sent
      ? "Sent. Waiting for callgate."
      : resting
        ? "Pause typing and clicking for a moment."
        : { "": "", all: "Read all arguments before you approve.", end: "Read to the end before you approve." }[before];
  const close = () => open("");
  const rule = suggested(of);
  const brief = briefly(of);
  return (
    <div class="answers" ref={bar}>
      {panel === "reject" && <RejectPanel off={off} close={close} answer={props.answer} />}
      {rule && panel === "" && (
        <p class="suggestion">
          You approved {rule.approved} of these in this project.{" "}
          <button type="button" class="quiet" data-opens="rule" aria-disabled={off || unread} onClick={() => !off && !unread && open("rule")}>
            Make it a rule…
          </button>
        </p>
      )}
      {panel === "always" && <AlwaysPanel of={of} off={off || unread} close={close} answer={props.answer} />}
      {panel === "rule" && <AlwaysPanel of={of} {...(rule && { first: rule })} off={off || unread} close={close} answer={props.answer} />}
      {panel === "edit" && <EditPanel of={of} off={off || unread} close={close} answer={props.answer} />}
      <div class="actions" role="group" aria-label="Answer" aria-describedby="hint">
        <Action name="reject" keys="r" label="Reject" off={off} opens expanded={panel === "reject"} run={() => open("reject")} />
        <Action name="edit" keys="e" label="Edit" off={off || unread || of.args === null} opens expanded={panel === "edit"} run={() => open("edit")} />
        {of.request.always.length > 0 && (
          <Action name="always" keys="a" label="Always…" off={off || unread} opens expanded={panel === "always"} run={() => open("always")} />
        )}
        {brief && <Action name="brief" keys="m" label="10 minutes" off={off || unread} run={() => props.answer(brief)} />}
        <p id="hint" class="hint">
          {hint || (of.request.always.length === 0 ? `“Always” is not offered: ${meaning(of.request.risk.class)}${(of.request.marks ?? []).length > 0 ? ", marked" : ""}.` : "")}
        </p>
        {before === "end" ? (
          <Action name="to-end" keys="y" label="Show the end" off={off} run={props.toEnd} />
        ) : (
          <Action name="approve" keys="y" label="Approve once" off={off || unread} run={() => props.answer({ decision: "approve" })} />
        )}
      </div>
    </div>
  );
}

interface ActionProps {
  name: string;
  keys: string;
  label: string;
  off: boolean;
  opens?: boolean;
  expanded?: boolean;
  run(): void;
}

// Action is a button. When it is off it stays in the tab order, so that the focus is not lost while a prompt rests.
function Action({ name, keys, label, off, opens = false, expanded = false, run }: ActionProps) {
  return (
    <button
      type="button"
      class={name}
      data-opens={opens ? name : undefined}
      aria-disabled={off}
      aria-expanded={opens ? expanded : undefined}
      aria-keyshortcuts={keys}
      onClick={() => {
        if (!off) run();
      }}
    >
      {label} <kbd aria-hidden="true">{keys}</kbd>
    </button>
  );
}
