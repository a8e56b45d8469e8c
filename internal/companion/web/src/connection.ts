import { challengeIn, sign } from "./passkey";
import { hide, keep, patience, prove, Stranger, type Pairing } from "./pairing";
import { subprotocol, version } from "./wire";

const firstWait = 250; // ms before the first retry
const longestWait = 5_000;
const goneVersion = 4406; // close code: the server speaks another protocol version

// Listener learns what happens to a connection. frame gets the text of each frame.
export interface Listener {
  opened(): void;
  frame(text: string): void;
  lost(): void;
  ended(why: string): void; // for good: the person has to act
}

// Refused is the error of a REST request that callgate refused.
export class Refused extends Error {
  readonly status: number;
  readonly answer: unknown;

  constructor(status: number, message: string, answer: unknown) {
    super(message);
    this.status = status;
    this.answer = answer;
  }
}

// Connection is the WebSocket. It reconnects after a break. Each time the other side must prove itself first.
export class Connection {
  private socket: WebSocket | null = null;
  private wait = firstWait;
  private timer = 0;
  private over = false;
  private readonly pairing: Pairing;
  private readonly listener: Listener;

  constructor(pairing: Pairing, listener: Listener) {
    this.pairing = pairing;
    this.listener = listener;
    void this.connect();
  }

  // send writes a frame. It returns false if there is no connection.
  send(frame: string): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(frame);
    return true;
  }

  // ask makes a REST request with a body of JSON text. If callgate asks for a passkey, it asks the person and repeats
  // the request. The credential goes only to where the WebSocket is connected.
  async ask<T>(method: string, path: string, body?: string): Promise<T> {
    try {
      return await this.request<T>(method, path, body);
    } catch (error) {
      const challenge = challengeIn(error);
      if (!challenge) throw error;
      return this.request<T>(method, path, body, { "Callgate-Presence": await sign(challenge) });
    }
  }

  private async request<T>(method: string, path: string, body?: string, more: { [name: string]: string } = {}): Promise<T> {
    if (this.socket?.readyState !== WebSocket.OPEN) throw new Error("there is no connection");
    const headers: { [name: string]: string } = { Authorization: `Bearer ${this.pairing.token}`, ...more };
    if (method !== "GET") headers["Callgate-Client"] = `web:${encodeURIComponent(this.pairing.name)}`;
    if (method !== "GET") headers["Content-Type"] = "application/json";
    const response = await fetch(path, {
      method,
      headers,
      signal: AbortSignal.timeout(patience),
      credentials: "omit",
      redirect: "error",
      ...(body !== undefined && { body }),
    });
    const answer = (await response.json()) as T & { error?: { message: string } };
    if (!response.ok) throw new Refused(response.status, answer.error?.message ?? `callgate answered ${response.status}`, answer);
    return answer;
  }

  // hurry reconnects at once instead of after the pause.
  hurry(): void {
    if (this.timer === 0) return;
    this.wait = firstWait;
    clearTimeout(this.timer);
    this.timer = 0;
    void this.connect();
  }

  close(): void {
    this.over = true;
    clearTimeout(this.timer);
    hide();
    this.socket?.close();
  }

  private async connect(): Promise<void> {
    try {
      await prove(this.pairing);
    } catch (error) {
      if (error instanceof Stranger) this.end(`This page is no longer paired: ${error.message}.`);
      else this.again();
      return;
    }
    if (this.over) return;
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`, [subprotocol, `bearer.${this.pairing.token}`]);
    let opened = false;
    socket.onopen = () => {
      if (this.over) {
        socket.close();
        return;
      }
      opened = true;
      this.socket = socket;
      this.wait = firstWait;
      keep(this.pairing);
      const client = { name: this.pairing.name, version: String(version), kind: "web" };
      socket.send(JSON.stringify({ v: version, type: "hello", client, sessions: ["*"] }));
      this.listener.opened();
    };
    socket.onmessage = (event) => this.listener.frame(event.data as string);
    socket.onclose = (event) => {
      this.socket = null;
      hide();
      if (this.over) return;
      if (event.code === goneVersion) {
        this.end("callgate was updated. Reload this page.");
        return;
      }
      if (opened) this.listener.lost();
      this.again();
    };
  }

  private again(): void {
    if (this.over) return;
    const pause = this.wait / 2 + (Math.random() * this.wait) / 2;
    this.wait = Math.min(this.wait * 2, longestWait);
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      void this.connect();
    }, pause);
  }

  private end(why: string): void {
    this.close();
    this.listener.ended(why);
  }
}
