import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Difference } from "./difference";
import { format, parse, type Json } from "./json";
import type { Approval } from "./state";
import { message } from "./store";
import { Text } from "./text";
import type { Answer } from "./wire";

// EditPanel changes the arguments before they are approved. Callgate judges them again, and may ask again.
export function EditPanel({ of, off, close, answer }: { of: Approval; off: boolean; close(): void; answer(a: Answer): void }) {
  const [original] = useState(() => (of.args ? format(of.args) : of.raw));
  const [edited, setEdited] = useState(original);
  const input = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => input.current?.focus(), []);
  const trouble = problem(edited);
  const disabled = off || trouble !== "";
  const send = () => {
    if (!disabled) answer(edited === original ? { decision: "approve" } : { decision: "approve", arguments: edited });
  };
  return (
    <form
      class="panel"
      aria-label="Edit arguments"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label for="edited">New arguments. The model is told that you changed them.</label>
      <textarea
        id="edited"
        class="code"
        ref={input}
        rows={Math.min(16, Math.max(4, original.split("\n").length + 1))}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        value={edited}
        aria-invalid={trouble !== ""}
        aria-describedby="trouble"
        onInput={(event) => setEdited(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            send();
          }
        }}
      />
      <p id="trouble" class="trouble" role="status">
        <Text of={trouble} />
      </p>
      {edited !== original && trouble === "" && <Difference before={original} after={edited} limit={60} whole />}
      <div class="buttons">
        <button type="button" onClick={close}>
          Back <kbd>Esc</kbd>
        </button>
        <button type="submit" class="approve" aria-disabled={disabled}>
          {edited === original ? "Approve unchanged" : "Approve with these arguments"} <kbd>Ctrl Enter</kbd>
        </button>
      </div>
    </form>
  );
}

// problem returns why a text cannot be sent as arguments, or "".
function problem(edited: string): string {
  let json: Json;
  try {
    json = parse(edited);
  } catch (error) {
    return `Not JSON: ${message(error)}.`;
  }
  return json.kind === "object" ? "" : "Arguments must be an object in braces.";
}
