import { Connection, Refused } from "./connection";
import { notify } from "./notify";
import { codeIn, hide, redeem, stored, takeCode, type Pairing } from "./pairing";
import { apply, find, initial, pending, probed, type Approval, type Event, type State } from "./state";
import { version, type Answer, type Presence, type Session } from "./wire";

// Store holds the state, the pairing and the connection, and calls one listener after each change.
export class Store {
  state: State = initial;
  pairing: Pairing | null = null;
  trouble = ""; // why there is no pairing
  busy = false; // a code is being exchanged
  changed: () => void = () => {};
  private connection: Connection | null = null;
  private roster = 0; // timer

  // start pairs with the code in the address, or with the pairing that this tab kept. Pasting an address into the tab
  // later only changes the fragment and loads nothing.
  start(): void {
    window.addEventListener("hashchange", () => this.pairByAddress());
    if (this.pairByAddress()) return;
    const kept = stored();
    if (kept) this.connect(kept);
  }

  private pairByAddress(): boolean {
    const code = takeCode();
    if (code === null) return false;
    hide();
    this.unpair();
    void this.pair(code);
    return true;
  }

  // pair exchanges the code that a person pasted or an address had.
  async pair(input: string): Promise<void> {
    const code = codeIn(input);
    if (code === null) {
      this.trouble = "That is not a pairing code.";
      this.changed();
      return;
    }
    this.busy = true;
    this.trouble = "";
    this.changed();
    try {
      this.connect(await redeem(code));
    } catch (error) {
      this.trouble = `The page is not paired: ${message(error)}.`;
    }
    this.busy = false;
    this.changed();
  }

  // unpair forgets the credential.
  unpair(why = ""): void {
    this.connection?.close();
    this.connection = null;
    this.pairing = null;
    this.trouble = why;
    this.state = initial;
    this.changed();
  }

  // open reports whether callgate can be reached now.
  get open(): boolean {
    return this.state.connection === "open";
  }

  get mayAnswer(): boolean {
    return this.pairing?.credential === "approve" && this.open;
  }

  dispatch(event: Event): void {
    this.state = apply(this.state, event);
    this.changed();
  }

  // answer sends a person's answer, with the digest of the arguments on the page.
  answer(a: Approval, answer: Answer): void {
    if (!this.mayAnswer || a.over || a.stale || a.sent) return;
    const { arguments: edited, ...rest } = answer;
    const { sessionId, toolCallId, argsDigest } = a.request;
    const text = JSON.stringify({ v: version, type: "tool_approve", sessionId, toolCallId, argsDigest, ...rest });
    // Edited arguments are sent as the person wrote them, so that numbers keep their spelling.
    const frame = edited === undefined ? text : `${text.slice(0, -1)},"arguments":${edited}}`;
    if (a.request.presence && answer.decision !== "reject") {
      this.dispatch({ type: "sent", id: toolCallId, decision: answer.decision });
      this.connection?.ask("POST", `/api/approvals/${encodeURIComponent(toolCallId)}`, frame).catch((error: unknown) => this.refused(error, toolCallId));
      return;
    }
    if (this.connection?.send(frame)) this.dispatch({ type: "sent", id: toolCallId, decision: answer.decision });
  }

  setAutonomy(sessionId: string, level: string): void {
    this.ask("PUT", `/api/sessions/${encodeURIComponent(sessionId)}/autonomy`, { level }).catch((error: unknown) => this.refused(error));
  }

  // refused shows an error of REST like one of the WebSocket.
  refused(error: unknown, toolCallId?: string): void {
    const code = error instanceof Refused ? (error.answer as { error?: { code?: string } }).error?.code : undefined;
    this.frame(JSON.stringify({ type: "error", message: message(error), toolCallId, code }));
  }

  cancel(sessionId: string): void {
    this.connection?.send(JSON.stringify({ v: version, type: "cancel", sessionId }));
  }

  // freeze blocks everything but reads in all sessions, or ends the freeze.
  freeze(on: boolean): void {
    this.ask(on ? "PUT" : "DELETE", "/api/freeze", {})
      .catch((why: unknown) => alert(`Nothing was changed: ${message(why)}`))
      .finally(() => this.refresh());
  }

  chat(sessionId: string, message: string, context: boolean): void {
    this.connection?.send(JSON.stringify({ v: version, type: "chat", sessionId, message, ...(!context && { context }) }));
  }

  resetChat(sessionId: string): void {
    this.connection?.send(JSON.stringify({ v: version, type: "chat_reset", sessionId }));
  }

  get<T>(path: string): Promise<T> {
    return this.ask<T>("GET", path);
  }

  ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    return this.connection ? this.connection.ask<T>(method, path, body === undefined ? undefined : JSON.stringify(body)) : Promise.reject(new Error("there is no connection"));
  }

  // hurry brings the page up to date when somebody looks at it again.
  hurry(): void {
    this.connection?.hurry();
    if (this.open) this.refresh();
  }

  private connect(pairing: Pairing): void {
    this.pairing = pairing;
    this.trouble = "";
    this.state = initial;
    this.connection = new Connection(pairing, {
      opened: () => {
        this.dispatch({ type: "opened" });
        this.refresh();
        void this.probe();
        this.get<{ approvals: { toolCallId: string }[] }>("/api/approvals").then(
          ({ approvals }) => this.dispatch({ type: "pending", ids: approvals.map((a) => a.toolCallId) }),
          this.report,
        );
      },
      frame: (text) => this.frame(text),
      lost: () => this.dispatch({ type: "lost" }),
      ended: (why) => this.unpair(why),
    });
    this.changed();
  }

  private frame(text: string): void {
    const before = this.state;
    this.dispatch({ type: "frame", text, now: Date.now() });
    for (const a of pending(this.state)) {
      if (!find(before, a.request.toolCallId)) notify(a);
    }
    if (text.includes('"team_update"')) this.refresh();
  }

  // probe asks what this callgate can show besides approvals: a missing path answers 404. All tabs appear at once, so
  // that none moves under the pointer.
  private async probe(): Promise<void> {
    const passkeys = this.get<Presence>("/api/presence").then(
      ({ needs, keys }) => needs !== "none" || keys.length > 0,
      () => false,
    );
    const answers = probed.map((power) =>
      this.get(`/api/${power}`).then(
        () => [power, true] as const,
        (error: unknown) => [power, !(error instanceof Refused && error.status === 404)] as const,
      ),
    );
    this.dispatch({ type: "powers", powers: { ...Object.fromEntries(await Promise.all(answers)), passkeys: await passkeys } });
  }

  // refresh reads the roster and the freezes over REST, which says more than the frames. Several frames at once cause one
  // request of each.
  private refresh(): void {
    clearTimeout(this.roster);
    this.roster = window.setTimeout(() => {
      this.get<{ frozen: { sessionId?: string }[] }>("/api/freeze").then(({ frozen }) => this.dispatch({ type: "frozen", all: frozen.some((f) => !f.sessionId) }), this.report);
      this.get<{ sessions: Session[] }>("/api/sessions").then(({ sessions }) => this.dispatch({ type: "sessions", sessions }), this.report);
    }, 50);
  }

  // report logs an error, unless the connection broke, which is visible anyway.
  private readonly report = (error: unknown): void => {
    if (this.open) console.warn("callgate:", message(error));
  };
}

export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
