// How a passkey signs what a person does, and how to make a new one. The browser asks the person.
import { Refused } from "./connection";

// Challenge is what callgate wants signed before it accepts a request.
interface Challenge {
  nonce: string;
  challenge: string; // base64url
  rpId: string;
  keys: string[];
}

// challengeIn returns the challenge for a refused request, or null if a passkey would not help.
export function challengeIn(error: unknown): Challenge | null {
  if (!(error instanceof Refused)) return null;
  return (error.answer as { error?: { presence?: Challenge } }).error?.presence ?? null;
}

// sign has a passkey sign the challenge, and returns the header for the request.
export async function sign({ nonce, challenge, rpId, keys }: Challenge): Promise<string> {
  const found = await asked(() =>
    navigator.credentials.get({
      publicKey: {
        challenge: bytes(challenge),
        rpId,
        allowCredentials: keys.map((id) => ({ type: "public-key", id: bytes(id) })),
        userVerification: "preferred",
        timeout: 110_000,
      },
    }),
  );
  const response = found.response as AuthenticatorAssertionResponse;
  const assertion = {
    nonce,
    key: found.id,
    clientData: base64(response.clientDataJSON),
    authenticatorData: base64(response.authenticatorData),
    signature: base64(response.signature),
  };
  return btoa(JSON.stringify(assertion));
}

// create makes a passkey for this page. others are the existing ones: a device that has one makes no second.
export async function create(name: string, others: string[]): Promise<{ id: string; public: string }> {
  const made = await asked(() =>
    navigator.credentials.create({
      publicKey: {
        rp: { id: location.hostname, name: "callgate" },
        user: { id: crypto.getRandomValues(new Uint8Array(16)), name, displayName: name },
        challenge: crypto.getRandomValues(new Uint8Array(32)), // the later signature is what counts
        pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: "public-key", alg })),
        excludeCredentials: others.map((id) => ({ type: "public-key", id: bytes(id) })),
        authenticatorSelection: { userVerification: "preferred" },
        attestation: "none",
      },
    }),
  );
  const key = (made.response as AuthenticatorAttestationResponse).getPublicKey();
  if (!key) throw new Error("the browser does not support this kind of passkey");
  return { id: made.id, public: base64(key) };
}

async function asked(ask: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  if (!window.PublicKeyCredential) throw new Error("this browser does not allow passkeys on this page");
  try {
    const found = await ask();
    if (found) return found as PublicKeyCredential;
  } catch (error) {
    if (error instanceof DOMException && error.name === "InvalidStateError") throw new Error("this passkey is registered already");
    if (!(error instanceof DOMException) || error.name !== "NotAllowedError") throw error;
  }
  throw new Error("no passkey was used");
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}

function base64(data: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(data)));
}
