// The frames of protocol version 1 and the answers of REST, as far as the page uses them.

export const version = 1;
export const subprotocol = "callgate.v1";

export interface Risk {
  class: string;
  label: string;
  category: string;
}

export interface Reason {
  subject: string;
  rule: string;
  layer: string;
  action: string;
}

export interface Command {
  argv: string[];
  via?: string[];
  writes?: string[];
  reads?: string[];
  risk: string;
}

export interface Offer {
  tool: string;
  pattern: string;
  risk: string;
  subject: number;
  default: boolean;
  approved?: number; // earlier approvals in the project that the grant would have made unnecessary
  newlyAllows?: { count: number; examples?: string[] };
}

export interface Mark {
  code: string;
  text: string;
  quote?: string; // the words of the arguments that the mark is about
  from?: { toolCallId: string; tool: string; server: string; at: string }; // the result that they came from
}

// Host is how a host names itself, and the principal whose credential it has shown.
export interface Host {
  name: string;
  version?: string;
  principal?: string;
}

// Origin is where a host works.
export interface Origin {
  folder?: string;
  branch?: string;
  terminal?: string;
}

// Turn is one message of a conversation with a session's model.
export interface Turn {
  role: "user" | "assistant";
  text: string;
  by?: string;
  context?: { source: string; text: string }[];
  model?: string;
  usage?: { tokens: number; cost: number };
}

// ChatFrame reports an event of a conversation. The text is fetched separately.
export interface ChatFrame {
  type: "chat_asked" | "chat_cleared" | "token" | "done";
  sessionId: string;
}

export interface Request {
  type: "tool_approve_request";
  client?: Host;
  origin?: Origin;
  undo?: { kept: boolean; text: string };
  sessionId: string;
  agentId: string;
  toolCallId: string;
  workerId: string;
  server: string;
  tool: string;
  kind: string;
  argsDigest: string;
  summary: string;
  description?: string;
  risk: Risk;
  reason: string;
  reasons: Reason[];
  commands?: Command[];
  always: Offer[];
  marks?: Mark[];
  definitionChanged?: { why: string };
  rewritten?: { by: string };
  createdAt: string;
  expiresAt: string;
  presence?: boolean; // a yes needs a passkey
  prompt?: string; // the user's last prompt to the model
}

export interface Resolved {
  type: "tool_approve_resolved";
  sessionId: string;
  toolCallId: string;
  decision: string;
  by: string;
  reason: string;
}

export interface ToolStart {
  type: "tool_start";
  sessionId: string;
  toolCallId: string;
  tool: string;
}

export interface ToolResult {
  type: "tool_result";
  sessionId: string;
  toolCallId: string;
  tool: string;
  duration: number;
  isError: boolean;
}

export interface AgentState {
  type: "agent_state";
  sessionId: string;
  agentId: string;
  status: string;
}

export interface TeamUpdate {
  type: "team_update";
  sessionId: string;
  agents: { agentId: string; client: Host; permissions: string }[];
}

export interface AutonomyChanged {
  type: "autonomy_changed";
  sessionId: string;
  level: string;
  by: string;
}

export interface AuditEntry {
  type: "audit_entry";
  sessionId: string;
  toolCallId: string;
  agentId: string;
  tool: string;
  risk: string;
  decision: string;
  timestamp: string;
  summary: string;
  by: string;
  rule: string;
  digest: string;
}

export interface ErrorFrame {
  type: "error";
  message: string;
  code?: string;
  toolCallId?: string;
  sessionId?: string;
}

export type Frame =
  | Request
  | Resolved
  | ToolStart
  | ToolResult
  | AgentState
  | TeamUpdate
  | AutonomyChanged
  | AuditEntry
  | ChatFrame
  | ErrorFrame;

// Agent is an agent in a session, as it was described when it was registered.
export interface Agent {
  agentId: string;
  role: string;
  goal?: string;
  domain?: string;
  provider?: string;
  model?: string;
  roles?: { name: string; goal?: string; domain?: string }[];
  status?: string;
}

export interface Session {
  sessionId: string;
  workerId: string;
  agentId: string;
  agents?: Agent[]; // the session's own first
  client: Host;
  autonomy: string;
  mode: string;
  frozen?: string; // why only reads go through
  status: string;
  origin?: Origin;
  createdAt: string;
  lastActivity: string;
}

// Presence says what needs a passkey, and lists the passkeys.
export interface Presence {
  needs: string;
  keys: { id: string; name: string; person?: string; rpId: string; added: string }[];
}

export interface Info {
  version: string;
  protocols: { companion: number[]; mcp: string[] };
  problems?: string[]; // with what callgate stores, or with what can be seen
  replicas?: Replica[]; // of the cluster
}

export interface Replica {
  name: string;
  version: string;
  state: string; // up or silent
  rules: number; // revision of the rules that it follows
  self?: boolean;
}

// Tools lists the tools offered to one session.
export interface Tools {
  sessionId: string;
  servers: Server[];
}

export interface Server {
  name: string;
  state: string;
  tools: number;
  error?: string;
  guard?: string;
  offered: Tool[];
}

export interface Tool {
  tool: string;
  name: string;
  description: string;
  kind?: string;
  bound: boolean;
  why: string;
  subjects?: { [argument: string]: string };
  verdict: string;
  rule: string;
  patterns: number;
  hash: string;
  labels?: Labels;
  draft?: Labels; // callgate's suggestion for a tool without labels
  arguments?: string[];
  definitionChanged?: { old?: string; new: string; why: string };
}

// Labels say what a tool returns and does, spelled as in callgate.yaml.
export interface Labels {
  effect: string;
  returns?: string[];
  destination?: string[];
  content?: string[];
}

export interface Fault {
  line: number;
  column: number;
  message: string;
}

export interface Problem {
  check: string;
  severity: string;
  source: string;
  rule: string;
  why: string;
  cure: string;
}

// Check is the result of checking the text of a rules file.
export interface Check {
  rules: number;
  fault?: Fault;
  problems?: Problem[];
}

export interface Rules extends Check {
  worker: string;
  file: string;
  text: string;
  layers?: { layer: string; name: string; rules: Rule[] }[];
}

export interface Rule {
  place: string;
  tool: string;
  pattern: string;
  action: string;
}

export interface Grant {
  id: string;
  workerId: string;
  layer: string;
  sessionId?: string;
  expired?: boolean;
  tool: string;
  pattern: string;
  risk: string;
  server?: string;
  workspace?: string;
  by?: string;
  at?: string;
  expires?: string;
}

// HostState is one finding about a host on this machine.
export interface HostState {
  host: string;
  state: "ok" | "warning" | "broken";
  text: string;
  cure?: string;
}

export interface Hook {
  name: string;
  event: string[];
  matcher?: string;
  action: string; // command, log or webhook
  when: string; // before or after
  enabled: boolean;
  runs: number;
  failures: number;
  lastFailure?: { at: string; event: string; error: string };
}

export interface Checkpoint {
  id: string;
  toolCallId: string;
  tool: string;
  sessionId: string;
  workspace?: string;
  createdAt: string;
  restores?: string; // the checkpoint whose restore this one precedes
  ended: boolean; // the outcome of the call is known
  verified: boolean;
  restoredAt?: string;
  files: CheckpointFile[];
  more?: number;
  notes?: string[];
}

// CheckpointFile is what a checkpoint kept of a path, and what the call changed.
export interface CheckpointFile {
  path: string;
  state: string;
  size: number;
  change?: string; // created, changed, deleted or leftOut
  why?: string;
}

// FileDiff is how a file differs from what the checkpoint kept.
export interface FileDiff {
  path: string;
  state: string; // created, changed, deleted or leftOut
  diff?: string;
  binary?: boolean;
  hidden?: boolean;
  changedSince?: boolean;
}

// FileChange is what a pending call would do to one file on disk.
export interface FileChange {
  path: string;
  state: "new" | "changed" | "same" | "unknown";
  before?: string;
  after?: string;
  why?: string; // why it is not known
}

// Record is one line of the audit log.
export interface Record {
  seq: number;
  time: string;
  event: string;
  callId?: string;
  sessionId?: string;
  worker?: string;
  agent?: string;
  host?: string;
  principal?: string;
  project?: string;
  from?: string;
  server?: string;
  tool?: string;
  kind?: string;
  decision?: string;
  risk?: string;
  by?: string;
  rule?: string;
  reason?: string;
  summary?: string;
  digest?: string;
  approval?: string; // the call that a person answered, if this call repeats it
  edited?: boolean; // a person changed the arguments before approving
  subjects?: { tool: string; kind?: string; value?: string; action: string; rule?: string; risk: string }[];
  isError?: boolean;
  error?: string;
  durationMs?: number;
  resultBytes?: number;
  arguments?: unknown; // without secrets
  outcome?: Record;
  prev?: string;
  hash?: string;
}

// Answer is a person's answer to one approval. Arguments are JSON text and are sent unchanged.
export interface Answer {
  decision: "approve" | "reject" | "always";
  feedback?: string;
  together?: boolean;
  grants?: { tool: string; pattern: string }[];
  scope?: "session" | "worker";
  expiresIn?: number;
  arguments?: string;
}

// Suggestions holds grants that would have answered past questions.
export interface Suggestions {
  worth: boolean; // they save enough to be shown without being asked for
  days: number;
  questions: number;
  saved: number;
  proposals: Suggestion[];
}

export interface Suggestion {
  id: string;
  tool: string;
  pattern: string;
  ceiling: string;
  server?: string;
  workspace?: string;
  saves: number;
  examples: string[];
  opens: { everyday: number; operands: number; hosts: number };
}

// Report explains why people were asked.
export interface Report {
  calls: number;
  unasked: number;
  denied: number;
  questions: number;
  marked: number;
  approved: number;
  answer: number; // median seconds
  slowest: number;
  days: { day: string; calls: number; questions: number; denied: number }[];
  chart: { x: number; y: number; width: number; height: number; class: string; title: string }[]; // in 1000 by 120
  byProject: Share[];
  byHost: Share[];
  byRule: Share[];
  byFamily: Share[];
  constant: Share[];
  denials: Share[];
}

export interface Share {
  name: string;
  asked: number;
  approved: number;
  answer: number;
}
