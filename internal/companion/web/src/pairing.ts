// How the page gets its credential, keeps it, and finds out whom it is talking to.

// Pairing is what the page gets for a code.
export interface Pairing {
  token: string;
  credential: "approve" | "view";
  secret: string; // name of the credential, which may belong to one person
  name: string; // the person's name in the audit trail
}

const key = "callgate.pairing";

// patience is how long the other side may take to answer, in ms.
export const patience = 10_000;

// stored returns the pairing kept by an earlier load of this tab.
export function stored(): Pairing | null {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null") as Pairing | null;
  } catch {
    return null;
  }
}

// keep and hide put the pairing into the tab's storage and take it out. It stays there only while callgate has proved
// that it is there. When callgate ends, another process may take its port and serve this origin, and a reload would
// hand the storage to it.
export function keep(pairing: Pairing): void {
  sessionStorage.setItem(key, JSON.stringify(pairing));
}

export function hide(): void {
  sessionStorage.removeItem(key);
}

// codeIn returns the code in an address or in pasted text, or null.
export function codeIn(text: string): string | null {
  return /^(?:.*#pair=|#?)([\w-]{43})$/.exec(text.trim())?.[1] ?? null;
}

// takeCode returns the code in the page's own address, and removes it from there and from the history.
export function takeCode(): string | null {
  if (!location.hash.startsWith("#pair=")) return null;
  const code = codeIn(location.hash);
  history.replaceState(null, "", location.pathname);
  return code ?? "";
}

// redeem exchanges a code for a pairing. It throws an Error with a message for the person.
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

// Stranger means that the other side does not hold our credential.
export class Stranger extends Error {}

// prove has the other side prove that it holds the pairing's credential, before the credential is sent there. It throws
// a Stranger if the proof is wrong, and another error if nobody answers.
export async function prove(pairing: Pairing): Promise<void> {
  const nonce = hex(crypto.getRandomValues(new Uint8Array(32)));
  const response = await fetch(`/api/proof?credential=${encodeURIComponent(pairing.secret)}&nonce=${nonce}`, {
    signal: AbortSignal.timeout(patience),
    credentials: "omit",
    redirect: "error",
  });
  if (response.status === 404) {
    const { error } = (await response.json()) as { error?: { code?: string } };
    if (error?.code === "UNAUTHORIZED") throw new Stranger("callgate does not have its credential any more. A sign-in ends after some hours");
  }
  if (!response.ok) throw new Error(`callgate answered ${response.status}`);
  const { proof } = (await response.json()) as { proof: string };
  for (const address of addresses()) {
    if (proof === (await hmac(pairing.token, `callgate companion proof v1\0${nonce}\0${address}`))) return;
  }
  throw new Stranger("the program at this address does not have the credential that this page was paired with. callgate may have restarted with other credentials");
}

// addresses returns the addresses by which the server may know itself: it proves the one that it listens on.
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
