// How the page comes to its credential, keeps it, and finds out who it is talking to.

// Pairing is what a code was exchanged for.
export interface Pairing {
  token: string;
  credential: "approve" | "view";
  secret: string; // name of the credential, which can be one person's own
  name: string; // what the audit trail calls the person
}

const key = "callgate.pairing";

// patience is how long the other side may take to answer, in ms.
export const patience = 10_000;

// stored returns what an earlier load of this tab kept.
export function stored(): Pairing | null {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null") as Pairing | null;
  } catch {
    return null;
  }
}

// keep and hide put the pairing into the tab's storage and take it out. It lies there only while callgate has
// proved that it is there: when callgate ends, whoever takes its port serves this origin, and a reload would
// hand the storage to them.
export function keep(pairing: Pairing): void {
  sessionStorage.setItem(key, JSON.stringify(pairing));
}

export function hide(): void {
  sessionStorage.removeItem(key);
}

// codeIn returns the code in an address or in what a person pasted, null when there is none.
export function codeIn(text: string): string | null {
  return /^(?:.*#pair=|#?)([\w-]{43})$/.exec(text.trim())?.[1] ?? null;
}

// takeCode returns the code of the page's own address and removes it from there and from the history.
export function takeCode(): string | null {
  if (!location.hash.startsWith("#pair=")) return null;
  const code = codeIn(location.hash);
  history.replaceState(null, "", location.pathname);
  return code ?? "";
}

// redeem exchanges a code. It throws an Error whose message is for the person.
export async function redeem(code: string): Promise<Pairing> {
  const response = await fetch("/api/pair/redeem", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
    signal: AbortSignal.timeout(patience),
    credentials: "omit",
    redirect: "error",
  });
  const body = (await response.json()) as Partial<Pairing> & { error?: { message: string } };
  if (!response.ok) throw new Error(body.error?.message ?? `callgate answered ${response.status}`);
  if (!body.token || (body.credential !== "approve" && body.credential !== "view")) throw new Error("callgate's answer has no credential");
  return { token: body.token, credential: body.credential, secret: body.secret ?? body.credential, name: body.name || "page" };
}

// Stranger says that the other side does not hold our credential.
export class Stranger extends Error {}

// prove has the other side show that it holds the pairing's credential, before it is sent there. It throws a
// Stranger when it does not, any other error when nobody answers.
export async function prove(pairing: Pairing): Promise<void> {
  const nonce = hex(crypto.getRandomValues(new Uint8Array(32)));
  const response = await fetch(`/api/proof?credential=${encodeURIComponent(pairing.secret)}&nonce=${nonce}`, {
    signal: AbortSignal.timeout(patience),
    credentials: "omit",
    redirect: "error",
  });
  if (!response.ok) throw new Error(`callgate answered ${response.status}`);
  const { proof } = (await response.json()) as { proof: string };
  for (const address of addresses()) {
    if (proof === (await hmac(pairing.token, `callgate companion proof v1\0${nonce}\0${address}`))) return;
  }
  throw new Stranger("the program at this address does not have the credential that this page was paired with");
}

// addresses are what the server may call itself: it proves the address that it listens on.
function addresses(): string[] {
  return location.protocol === "http:" && location.hostname === "localhost" ? [`127.0.0.1:${location.port}`, `[::1]:${location.port}`] : [location.host];
}

async function hmac(secret: string, message: string): Promise<string> {
  const bytes = new TextEncoder();
  const imported = await crypto.subtle.importKey("raw", bytes.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return hex(new Uint8Array(await crypto.subtle.sign("HMAC", imported, bytes.encode(message))));
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}
