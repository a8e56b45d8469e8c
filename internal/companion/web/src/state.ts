import { lineCount, indented, parse, rawMember, type Json } from "./json";
import type { AuditEntry, Frame, Request, Resolved, Session } from "./wire";

// Approval is one question. It stays in the list after it is over as long as it is the one that is looked at.
export interface Approval {
  request: Request;
  raw: string; // the arguments, byte for byte
  args: Json | null; // null when they cannot be read
  definition: { old: string; new: string } | null; // of the tool, when it is not the one that was accepted
  rewritten: { by: string; original: string } | null; // what came, when a hook changed it
  viewed: boolean; // all of the arguments were shown
  reached: boolean; // their end was on the screen
  changed: boolean; // the question was asked again with other arguments
  sent: string; // the decision that left this page and is not confirmed
  refused: string; // why the server did not take an answer
  stale: boolean; // known from before the connection broke; not confirmed since
  over: Resolved | null;
}

// Outcome is what became of a call.
export interface Outcome {
  id: string;
  tool: string;
  session: string;
  summary: string;
  decision: string;
  by: string;
  reason: string;
  at: number;
  state: "" | "running" | "done" | "failed"; // "" for a call that does not run
  duration: number; // ms, when done or failed
}

// Powers are what a callgate may have beside approvals, by the name of their path.
export const probed = ["rules", "tools", "checkpoints", "hooks"] as const;
export const powers = [...probed, "passkeys"] as const;
export type Power = (typeof powers)[number];

export interface State {
  connection: "connecting" | "open" | "lost";
  approvals: Approval[]; // in order of arrival
  current: string; // id of the approval that is looked at, "" for none
  shown: number; // counts how often another prompt came up by itself
  outcomes: Outcome[]; // newest first
  sessions: Session[]; // oldest first
  audit: AuditEntry[]; // newest first, since the page was opened
  chats: { [session: string]: { count: number; error: string } }; // how often something was told of a conversation, and what went wrong last
  powers: { [power in Power]?: boolean };
  said: string; // for screen readers
  notice: string; // an error that concerns no approval
}

export type Event =
  | { type: "opened" }
  | { type: "lost" }
  | { type: "frame"; text: string; now: number }
  | { type: "sessions"; sessions: Session[] }
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

// unseen is what a person has to look at before they may approve: all of long arguments, and of a call of high risk
// the end, on the screen.
export function unseen(a: Approval): "" | "all" | "end" {
  if (!a.viewed) return "all";
  return a.reached || mild.includes(a.request.risk.class) ? "" : "end";
}

// mild are the classes of risk below high; together are those that may be approved as a selection.
const mild = ["READ_ONLY", "BUILD_TEST", "WRITE", "NETWORK"];
const together = [...mild, "UNKNOWN"];

// needsPerson says why a call is never approved together with others, "" when it may be.
export function needsPerson(a: Approval): string {
  if ((a.request.marks ?? []).length > 0) return "marked: answer it on its own";
  if (!together.includes(a.request.risk.class)) return "it may lose data: answer it on its own";
  return { "": "", all: "its arguments are long: read them first", end: "it is of high risk: read its arguments first" }[unseen(a)];
}

// What is shown of arguments before a person asks for all of them; the terminal has the same bounds.
export const shownLines = 60;
export const shownBytes = 8 << 10;

// apply is the whole life of the page's state. It changes nothing that it is given.
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
      if (f.code === "ESCALATION") return { ...state, said: f.message }; // the trail has it
      if (f.sessionId && !f.toolCallId) state = chatted(state, f.sessionId, ""); // a question may have ended by it
      return refused(state, f.toolCallId ?? "", f.code ?? "", f.message);
    default:
      return state; // a type of a later server
  }
}

// chatErrors are the codes of errors of a question to a model.
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

// read is null for what is no JSON: it is shown as the text that it is.
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

// words says what a decision is called.
export function words(decision: string): string {
  return (
    { approve: "approved", always: "always allowed", reject: "rejected", timeout: "timed out", withdrawn: "withdrawn" }[decision] ?? decision
  );
}

function refused(state: State, id: string, code: string, message: string): State {
  if (code === "APPROVAL_TIMEOUT") return state; // tool_approve_resolved has said it
  const known = find(state, id);
  if (!known) return { ...state, notice: message };
  if (known.over) return state; // somebody else was first, and the page says who
  return change(state, id, (a) => ({ ...a, sent: "", refused: message }));
}

// dropStale ends what waited before the connection broke and does not wait any more.
function dropStale(state: State, waiting: Set<string>): State {
  const gone: Resolved = { type: "tool_approve_resolved", sessionId: "", toolCallId: "", decision: "over", by: "", reason: "It ended while the connection was lost." };
  return {
    ...state,
    approvals: state.approvals.map((a) =>
      a.over || !a.stale || waiting.has(a.request.toolCallId) ? { ...a, stale: false } : { ...a, stale: false, over: { ...gone, sessionId: a.request.sessionId } },
    ),
  };
}

// settle chooses what is looked at after something changed: the same as before as long as it waits. What this page
// answered, or its own always released, makes room for the next; what others ended stays until something arrives.
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

// withoutOver forgets what is over and not looked at.
function withoutOver(state: State): State {
  return { ...state, approvals: state.approvals.filter((a) => a.over === null || a.request.toolCallId === state.current) };
}

function change(state: State, id: string, to: (a: Approval) => Approval): State {
  return { ...state, approvals: state.approvals.map((a) => (a.request.toolCallId === id ? to(a) : a)) };
}

function outcome(state: State, id: string, to: (o: Outcome) => Outcome): State {
  return { ...state, outcomes: state.outcomes.map((o) => (o.id === id ? to(o) : o)) };
}

// doing notes what an agent does. What the session's own does is what the whole session does.
function doing(s: Session, agent: string, status: string): Session {
  const agents = s.agents?.map((a) => (a.agentId === agent ? { ...a, status } : a));
  return { ...s, agents, status: agent === s.agentId ? status : s.status };
}

function session(state: State, id: string, to: (s: Session) => Session, said: string): State {
  return { ...state, sessions: state.sessions.map((s) => (s.sessionId === id ? to(s) : s)), said: said || state.said };
}
