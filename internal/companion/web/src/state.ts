import { lineCount, indented, parse, rawMember, type Json } from "./json";
import type { AuditEntry, Frame, Request, Resolved, Session } from "./wire";

// Approval is one question. After its end it stays in the list while the person is looking at it.
export interface Approval {
  request: Request;
  raw: string; // the arguments, byte for byte
  args: Json | null; // null if they cannot be parsed
  definition: { old: string; new: string } | null; // of the tool, if it is not the accepted one
  rewritten: { by: string; original: string } | null; // the original arguments, if a hook changed them
  viewed: boolean; // all of the arguments were shown
  reached: boolean; // their end was on the screen
  changed: boolean; // the question was asked again with other arguments
  sent: string; // the decision sent from this page and not confirmed yet
  refused: string; // what became of an answer after which the call still waits
  stale: boolean; // known from before the connection broke, and not confirmed since
  over: Resolved | null;
}

// Outcome is the result of a call.
export interface Outcome {
  id: string;
  tool: string;
  session: string;
  summary: string;
  decision: string;
  by: string;
  reason: string;
  at: number;
  state: "" | "running" | "done" | "failed"; // "" if the call does not run
  duration: number; // ms, when done or failed
}

// probed and powers name what a callgate may have besides approvals, by path.
export const probed = ["rules", "tools", "checkpoints", "hooks"] as const;
export const powers = [...probed, "passkeys"] as const;
export type Power = (typeof powers)[number];

export interface State {
  connection: "connecting" | "open" | "lost";
  approvals: Approval[]; // in order of arrival
  current: string; // id of the approval that the person is looking at, or ""
  shown: number; // how often another prompt has come up by itself
  outcomes: Outcome[]; // newest first
  sessions: Session[]; // oldest first
  frozen: boolean; // all sessions are frozen, also those that begin later
  audit: AuditEntry[]; // newest first, since the page was opened
  chats: { [session: string]: { count: number; error: string } }; // events of its conversation, and the last error
  powers: { [power in Power]?: boolean };
  said: string; // for screen readers
  notice: string; // an error that concerns no approval
}

export type Event =
  | { type: "opened" }
  | { type: "lost" }
  | { type: "frame"; text: string; now: number }
  | { type: "sessions"; sessions: Session[] }
  | { type: "frozen"; all: boolean }
  | { type: "powers"; powers: { [power in Power]?: boolean } }
  | { type: "pending"; ids: string[] }
  | { type: "look"; id: string }
  | { type: "viewed" | "reached"; id: string }
  | { type: "sent"; id: string; decision: string }
  | { type: "dismiss" };

export const initial: State = {
  connection: "connecting",
  approvals: [],
  current: "",
  shown: 0,
  outcomes: [],
  sessions: [],
  frozen: false,
  audit: [],
  chats: {},
  powers: {},
  said: "",
  notice: "",
};

const maxOutcomes = 40;
const maxAudit = 500;

export function pending(state: State): Approval[] {
  return state.approvals.filter((a) => a.over === null);
}

export function find(state: State, id: string): Approval | undefined {
  return state.approvals.find((a) => a.request.toolCallId === id);
}

// unseen returns what a person must look at before they may approve: all of long arguments, and for high risk also the
// end, on the screen.
export function unseen(a: Approval): "" | "all" | "end" {
  if (!a.viewed) return "all";
  return a.reached || mild.includes(a.request.risk.class) ? "" : "end";
}

// mild lists the risk classes below high; together lists those that can be approved as a selection.
const mild = ["READ_ONLY", "BUILD_TEST", "WRITE", "NETWORK"];
const together = [...mild, "UNKNOWN"];

// needsPerson returns why a call can never be approved together with others, or "".
export function needsPerson(a: Approval): string {
  if (a.request.presence) return "it needs your passkey: answer it on its own";
  if ((a.request.marks ?? []).length > 0) return "marked: answer it on its own";
  if (!together.includes(a.request.risk.class)) return "it may lose data: answer it on its own";
  return { "": "", all: "its arguments are long: read them first", end: "it is of high risk: read its arguments first" }[unseen(a)];
}

// How much of the arguments is shown before a person asks for all of them, as in the terminal.
export const shownLines = 60;
export const shownBytes = 8 << 10;

// apply makes every change of the page's state. It does not modify its arguments.
export function apply(state: State, event: Event): State {
  switch (event.type) {
    case "opened":
      return {
        ...state,
        connection: "open",
        notice: "",
        said: "Connected.",
        sessions: [],
        approvals: state.approvals.map((a) => (a.over ? a : { ...a, stale: true, sent: "" })),
      };
    case "lost":
      return { ...state, connection: "lost", said: "Connection lost. Trying again." };
    case "sessions":
      return { ...state, sessions: event.sessions };
    case "frozen":
      return { ...state, frozen: event.all };
    case "powers":
      return { ...state, powers: event.powers };
    case "pending":
      return settle(dropStale(state, new Set(event.ids)));
    case "look":
      return withoutOver({ ...state, current: event.id });
    case "viewed":
    case "reached":
      return change(state, event.id, (a) => ({ ...a, [event.type]: true }));
    case "sent":
      return change(state, event.id, (a) => ({ ...a, sent: event.decision, refused: "" }));
    case "dismiss":
      return { ...state, notice: "" };
    case "frame":
      return frame(state, event.text, event.now);
  }
}

function frame(state: State, text: string, now: number): State {
  const f = JSON.parse(text) as Frame;
  switch (f.type) {
    case "tool_approve_request":
      return settle(asked(state, f, text), true);
    case "tool_approve_resolved":
      return settle(resolved(state, f, now));
    case "tool_start":
      return outcome(state, f.toolCallId, (o) => ({ ...o, state: "running" }));
    case "tool_result":
      return outcome(state, f.toolCallId, (o) => ({ ...o, state: f.isError ? "failed" : "done", duration: f.duration }));
    case "team_update":
      return f.agents.length > 0 ? state : { ...state, sessions: state.sessions.filter((s) => s.sessionId !== f.sessionId) };
    case "autonomy_changed":
      return session(state, f.sessionId, (s) => ({ ...s, autonomy: f.level }), f.by === "" ? "" : `Autonomy of session ${f.sessionId} is ${f.level}.`);
    case "agent_state":
      return session(state, f.sessionId, (s) => doing(s, f.agentId, f.status), "");
    case "audit_entry":
      return { ...state, audit: [f, ...state.audit].slice(0, maxAudit) };
    case "chat_asked":
    case "chat_cleared":
    case "token":
    case "done":
      return chatted(state, f.sessionId, "");
    case "error":
      if (chatErrors.has(f.code ?? "") && f.sessionId) return chatted(state, f.sessionId, f.message);
      if (f.code === "ESCALATION") return { ...state, said: f.message }; // the trail shows it
      if (f.sessionId && !f.toolCallId) state = chatted(state, f.sessionId, ""); // it may have ended a question
      return refused(state, f.toolCallId ?? "", f.code ?? "", f.message);
    default:
      return state; // the type of a later server
  }
}

// chatErrors holds the error codes of a question to a model.
const chatErrors = new Set(["REFUSED", "CANCELLED", "UNAVAILABLE"]);

function chatted(state: State, session: string, error: string): State {
  return { ...state, chats: { ...state.chats, [session]: { count: (state.chats[session]?.count ?? 0) + 1, error } } };
}

function asked(state: State, request: Request, text: string): State {
  const raw = rawMember(text, "args") ?? "{}";
  const args = read(raw);
  const changed = rawMember(text, "definitionChanged");
  const definition = changed ? { old: indented(rawMember(changed, "old") ?? ""), new: indented(rawMember(changed, "new") ?? "") } : null;
  const came = rawMember(text, "rewritten");
  const rewritten = came && request.rewritten ? { by: request.rewritten.by, original: indented(rawMember(came, "original") ?? "") } : null;
  const known = find(state, request.toolCallId);
  const same = known?.request.argsDigest === request.argsDigest;
  const next: Approval = {
    request,
    raw,
    args,
    definition,
    rewritten,
    viewed: (same && known.viewed) || !(large(raw, args) || (definition !== null && definition.new.split("\n").length > shownLines)),
    reached: same && known.reached,
    changed: known !== undefined && (!same || known.changed),
    sent: "",
    refused: known?.refused ?? "",
    stale: false,
    over: null,
  };
  if (known) return { ...state, approvals: state.approvals.map((a) => (a === known ? next : a)), shown: same ? state.shown : state.shown + 1 };
  return {
    ...state,
    approvals: [...state.approvals, next],
    said: `Approval needed: ${request.tool}, ${request.risk.label} risk. ${request.summary}`,
  };
}

// read returns null for text that is not JSON, which is shown as text.
function read(raw: string): Json | null {
  try {
    return parse(raw);
  } catch {
    return null;
  }
}

function large(raw: string, args: Json | null): boolean {
  return raw.length > shownBytes || (args !== null && lineCount(args) > shownLines);
}

function resolved(state: State, f: Resolved, now: number): State {
  const known = find(state, f.toolCallId);
  if (!known || known.over) return state;
  const over: Outcome = {
    id: f.toolCallId,
    tool: known.request.tool,
    session: f.sessionId,
    summary: known.request.summary,
    decision: f.decision,
    by: f.by,
    reason: f.reason,
    at: now,
    state: "",
    duration: 0,
  };
  const cascade = f.by.startsWith("cascade:");
  return {
    ...change(state, f.toolCallId, (a) => ({ ...a, over: f })),
    outcomes: [over, ...state.outcomes].slice(0, maxOutcomes),
    said: cascade ? `${known.request.tool} was released by the same always.` : `${known.request.tool}: ${words(f.decision)}.`,
  };
}

// words returns the words for a decision.
export function words(decision: string): string {
  return (
    { approve: "approved", always: "always allowed", reject: "rejected", timeout: "timed out", withdrawn: "withdrawn" }[decision] ?? decision
  );
}

function refused(state: State, id: string, code: string, message: string): State {
  if (code === "APPROVAL_TIMEOUT") return state; // tool_approve_resolved said so already
  const known = find(state, id);
  if (!known) return { ...state, notice: message };
  if (known.over) return state; // somebody else was first, and the page says who
  const said = code === "ANOTHER_PERSON" ? message : `Not accepted: ${message}`;
  return change(state, id, (a) => ({ ...a, sent: "", refused: said }));
}

// dropStale ends approvals from before the connection broke that no longer wait.
function dropStale(state: State, waiting: Set<string>): State {
  const gone: Resolved = { type: "tool_approve_resolved", sessionId: "", toolCallId: "", decision: "over", by: "", reason: "It ended while the connection was lost." };
  return {
    ...state,
    approvals: state.approvals.map((a) =>
      a.over || !a.stale || waiting.has(a.request.toolCallId) ? { ...a, stale: false } : { ...a, stale: false, over: { ...gone, sessionId: a.request.sessionId } },
    ),
  };
}

// settle chooses the current approval after a change. It keeps the current one while it waits. An approval that this
// page answered, or that its "always" released, makes room for the next. One that somebody else ended stays until
// another arrives.
function settle(state: State, arrived = false): State {
  const current = find(state, state.current);
  if (current && (current.over === null || (!arrived && !ours(current.over, current.sent)))) return withoutOver(state);
  const at = current ? state.approvals.indexOf(current) : -1;
  const next = state.approvals.find((a, i) => a.over === null && i > at) ?? pending(state)[0];
  const id = next?.request.toolCallId ?? "";
  return withoutOver({ ...state, current: id, shown: id === state.current ? state.shown : state.shown + 1 });
}

function ours(over: Resolved, sent: string): boolean {
  return over.decision === sent || over.by.startsWith("cascade:");
}

// withoutOver drops finished approvals, except the one that the person is looking at.
function withoutOver(state: State): State {
  return { ...state, approvals: state.approvals.filter((a) => a.over === null || a.request.toolCallId === state.current) };
}

function change(state: State, id: string, to: (a: Approval) => Approval): State {
  return { ...state, approvals: state.approvals.map((a) => (a.request.toolCallId === id ? to(a) : a)) };
}

function outcome(state: State, id: string, to: (o: Outcome) => Outcome): State {
  return { ...state, outcomes: state.outcomes.map((o) => (o.id === id ? to(o) : o)) };
}

// doing notes what an agent is doing. The session's own agent does what the whole session does.
function doing(s: Session, agent: string, status: string): Session {
  const agents = s.agents?.map((a) => (a.agentId === agent ? { ...a, status } : a));
  return { ...s, agents, status: agent === s.agentId ? status : s.status };
}

function session(state: State, id: string, to: (s: Session) => Session, said: string): State {
  return { ...state, sessions: state.sessions.map((s) => (s.sessionId === id ? to(s) : s)), said: said || state.said };
}
