import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { go, href } from "./route";
import { Page, Trouble } from "./parts";
import type { State } from "./state";
import { message, type Store } from "./store";
import { Text } from "./text";
import type { Turn } from "./wire";
import { Where } from "./where";

// Chat asks the model of a session, through the session's own host. All clients share a session's conversation.
export function Chat({ store, state, session }: { store: Store; state: State; session: string }) {
  const of = state.sessions.find((s) => s.sessionId === session) ?? state.sessions[0];
  const id = of?.sessionId ?? "";
  const [turns, setTurns] = useState<Turn[]>([]);
  const [asking, setAsking] = useState(false);
  const [trouble, setTrouble] = useState("");
  const [text, setText] = useState("");
  const [context, setContext] = useState(true);
  const end = useRef<HTMLDivElement>(null);
  const heard = state.chats[id];
  useEffect(() => {
    if (id === "") return;
    let wanted = true;
    store.get<{ turns: Turn[]; asking: boolean }>(`/api/sessions/${encodeURIComponent(id)}/chat`).then(
      (found) => {
        if (!wanted) return;
        setTurns(found.turns);
        setAsking(found.asking);
        setTrouble("");
      },
      (error: unknown) => wanted && setTrouble(message(error)),
    );
    return () => {
      wanted = false;
    };
  }, [id, heard?.count, state.connection]);
  useLayoutEffect(() => end.current?.scrollIntoView({ block: "nearest" }), [turns.length, asking]);
  const sending = useRef(false); // until the page shows the question, so that a second click does not repeat it
  sending.current = asking;
  const send = () => {
    if (text.trim() === "" || sending.current || !store.mayAnswer) return;
    sending.current = true;
    store.chat(id, text, context);
    setText("");
    setAsking(true);
  };
  const waits = state.approvals.find((a) => a.over === null && a.request.sessionId === id && a.request.kind === "sampling");
  return (
    <Page
      name="Chat"
      lead="Ask the model of a session. Your question passes the gate and goes through the session’s host."
      beside={
        state.sessions.length > 0 && (
          <form class="filters" onSubmit={(event) => event.preventDefault()}>
            <label>
              Session
              <select value={id} onChange={(event) => go(href("chat", event.currentTarget.value))}>
                {state.sessions.map((s) => (
                  <option value={s.sessionId}>{[s.client.name || "host", s.origin?.folder?.split(/[\\/]/).at(-1), s.origin?.branch].filter(Boolean).join(" · ")}</option>
                ))}
              </select>
            </label>
          </form>
        )
      }
    >
      {!of && <p class="empty">No host is connected. You can ask a session's model while its host runs.</p>}
      {of && (
        <section class="chat" aria-label="Conversation">
          <header class="chat-head">
            <Where client={of.client} origin={of.origin} />
            <span class={`status ${of.status}`}>{of.status}</span>
          </header>
          <div class="turns" role="log" aria-live="polite">
            {turns.length === 0 && !asking && <p class="empty">No messages yet. Ask about the code, or about what the session is doing.</p>}
            {turns.map((turn) => (
              <Said of={turn} />
            ))}
            {asking && (
              <p class="thinking" role="status">
                {waits ? (
                  <>
                    The question waits for approval. <a href={href("approvals", waits.request.toolCallId)}>Show it</a>
                  </>
                ) : (
                  "The model is thinking…"
                )}
              </p>
            )}
            <div ref={end} />
          </div>
          <Trouble of={trouble || (heard?.error ?? "")} />
          {store.mayAnswer && (
            <form
              class="ask"
              onSubmit={(event) => {
                event.preventDefault();
                send();
              }}
            >
              <label class="sr-only" for="message">
                Message
              </label>
              <textarea
                id="message"
                rows={3}
                placeholder="Ask the model…"
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
                onKeyDown={(event) => {
                  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
                  event.preventDefault();
                  send();
                }}
              />
              <div class="row">
                <label class="check">
                  <input type="checkbox" checked={context} onChange={(event) => setContext(event.currentTarget.checked)} /> Add matching passages from the workspace
                </label>
                <span class="grow" />
                {turns.length > 0 && !asking && (
                  <button type="button" class="quiet" onClick={() => store.resetChat(id)}>
                    New conversation
                  </button>
                )}
                {asking && (
                  <button type="button" onClick={() => store.cancel(id)} title="Also ends running calls and withdraws pending approvals of the session">
                    Cancel
                  </button>
                )}
                <button type="submit" class="approve" aria-disabled={asking || text.trim() === ""}>
                  Send <kbd>↵</kbd>
                </button>
              </div>
            </form>
          )}
        </section>
      )}
    </Page>
  );
}

function Said({ of }: { of: Turn }) {
  const passages = of.context ?? [];
  return (
    <article class={`turn ${of.role}`}>
      <header class="label">
        <Text of={of.role === "user" ? (of.by ?? "you") : of.model || "model"} />
        {of.usage && ` · ${of.usage.tokens.toLocaleString()} tokens`}
        {of.usage && of.usage.cost > 0 && ` · $${of.usage.cost.toFixed(4)}`}
      </header>
      <p class="spoken">
        <Text of={of.text} />
      </p>
      {passages.length > 0 && (
        <details>
          <summary>
            {passages.length} {passages.length === 1 ? "passage" : "passages"} went along
          </summary>
          {passages.map((p) => (
            <figure>
              <figcaption>
                <Text of={p.source} code />
              </figcaption>
              <pre>
                <Text of={p.text} code />
              </pre>
            </figure>
          ))}
        </details>
      )}
    </article>
  );
}
