import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Answer } from "./wire";

// RejectPanel asks what the model should do instead. Enter sends the answer.
export function RejectPanel({ off, close, answer }: { off: boolean; close(): void; answer(a: Answer): void }) {
  const [feedback, setFeedback] = useState("");
  const input = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => input.current?.focus(), []);
  const send = () => {
    if (!off) answer(feedback.trim() === "" ? { decision: "reject" } : { decision: "reject", feedback: feedback.trim() });
  };
  return (
    <form
      class="panel"
      aria-label="Reject"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label for="feedback">Reason for the model, or what to do instead (optional)</label>
      <textarea
        id="feedback"
        ref={input}
        rows={2}
        maxLength={4000}
        value={feedback}
        onInput={(event) => setFeedback(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <div class="buttons">
        <button type="button" onClick={close}>
          Back <kbd>Esc</kbd>
        </button>
        <button type="submit" class="reject" aria-disabled={off}>
          Reject <kbd>Enter</kbd>
        </button>
      </div>
    </form>
  );
}
