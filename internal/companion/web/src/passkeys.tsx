import { useState } from "preact/hooks";
import { useLoaded } from "./load";
import { create } from "./passkey";
import { Page, Trouble } from "./parts";
import { message, type Store } from "./store";
import { Text } from "./text";
import type { Presence } from "./wire";

const which: { [needs: string]: string } = {
  none: "Answers do not need a passkey.",
  high: "Approving a high-risk or marked call needs a passkey. So does loosening the gate.",
  always: "Every approval needs a passkey. So does loosening the gate.",
};

// Passkeys lists the passkeys, and adds new ones.
export function Passkeys({ store }: { store: Store }) {
  const { data, trouble, again } = useLoaded<Presence>(store, "/api/presence");
  const [code, setCode] = useState("");
  const [name, setName] = useState("");
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState("");
  const run = async (change: () => Promise<unknown>) => {
    if (busy) return;
    setBusy(true);
    setFailed("");
    try {
      await change();
      again();
    } catch (error) {
      setFailed(message(error));
    }
    setBusy(false);
  };
  const add = async () => {
    const made = await create(name, data?.keys.filter((k) => k.rpId === location.hostname).map((k) => k.id) ?? []);
    await store.ask("POST", "/api/presence/keys", { code, name, ...made });
    setCode("");
    setName("");
  };
  return (
    <Page name="Passkeys" lead={which[data?.needs ?? ""] ?? ""}>
      <Trouble of={trouble || failed} />
      {data?.keys.length === 0 && <p class="empty">No passkey is registered.</p>}
      {data && data.keys.length > 0 && (
        <ul class="sheet lines passkeys">
          {data.keys.map((key) => (
            <li key={key.id}>
              <span class="name">
                <Text of={key.name} />
              </span>
              <span class="label">
                {key.person && (
                  <>
                    of <Text of={key.person} />,{" "}
                  </>
                )}
                for <Text of={key.rpId} code />, since {new Date(key.added).toLocaleDateString()}
              </span>
              {store.mayAnswer && (
                <button type="button" class="quiet" aria-disabled={busy} onClick={() => void run(() => store.ask("DELETE", `/api/presence/keys/${encodeURIComponent(key.id)}`))}>
                  Remove
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {store.mayAnswer && (
        <form
          aria-label="Add a passkey"
          onSubmit={(event) => {
            event.preventDefault();
            void run(add);
          }}
        >
          <p>
            To add one, type <code>callgate passkeys add</code> in a terminal. Your browser asks for the passkey twice: to make it, and to test it.
          </p>
          <div class="row">
            <label>
              Code <input required autocomplete="off" spellcheck={false} value={code} onInput={(event) => setCode(event.currentTarget.value)} />
            </label>
            <label>
              Name <input required maxLength={40} autocomplete="off" value={name} onInput={(event) => setName(event.currentTarget.value)} />
            </label>
            <button type="submit" class="always" aria-disabled={busy}>
              Add passkey
            </button>
          </div>
        </form>
      )}
    </Page>
  );
}
