import { useEffect, useState } from "preact/hooks";
import type { Store } from "./store";
import { Text } from "./text";

// Unpaired explains how the page gets its credential.
export function Unpaired({ store }: { store: Store }) {
  const [code, setCode] = useState("");
  const [issuer, setIssuer] = useState("");
  useEffect(() => {
    fetch("/api/signin")
      .then(async (answer) => answer.ok && setIssuer(((await answer.json()) as { issuer: string }).issuer))
      .catch(() => undefined); // then there is no sign-in
  }, []);
  return (
    <main class="unpaired">
      <img src="/page/icon.svg" alt="" width="56" height="56" />
      <h1>callgate</h1>
      <p>Calls that need your approval wait here. To see and answer them, pair this page. In a terminal, as the user who runs callgate, type</p>
      <pre>callgate open</pre>
      {store.trouble && (
        <p class="note refused" role="alert">
          <Text of={store.trouble} />
        </p>
      )}
      {issuer && (
        <p>
          Or <a href="/signin">sign in</a> at <Text of={issuer} />
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setCode("");
          void store.pair(code);
        }}
      >
        <label for="code">
          Or paste what <code>callgate open --print</code> shows
        </label>
        <div class="row">
          <input id="code" type="password" autocomplete="off" spellcheck={false} value={code} onInput={(event) => setCode(event.currentTarget.value)} />
          <button type="submit" class="always" aria-disabled={store.busy || code === ""}>
            Pair
          </button>
        </div>
      </form>
      <p class="label">A code works once, within a minute. If callgate says that a code was used and you did not use it, rotate the approve credential.</p>
    </main>
  );
}
