import { useLayoutEffect, useRef } from "preact/hooks";

const keys: [keys: string, what: string][] = [
  ["j", "the next approval"],
  ["k", "the previous approval"],
  ["y", "approve once"],
  ["r", "reject, with a reason for the model"],
  ["a", "always: choose what is allowed from now on"],
  ["m", "approve, and allow the same for 10 minutes in this session"],
  ["u", "end temporary permissions"],
  ["e", "edit the arguments, then approve"],
  ["v", "show all arguments"],
  ["x", "select or unselect"],
  ["1 … 9", "switch views"],
  ["?", "this list"],
  ["Esc", "back"],
];

// Help lists the keys.
export function Help({ close }: { close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="help">
      <h2 id="help">Keys</h2>
      <dl class="keys">
        {keys.map(([key, what]) => (
          <div>
            <dt>
              {key.split(" ").map((k) => (
                <kbd>{k}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="label">When a new approval appears, keys and clicks count only after a pause of 0.4 seconds, so you cannot answer it by accident.</p>
      <form method="dialog" class="buttons">
        <button type="submit" autofocus>
          Close <kbd>Esc</kbd>
        </button>
      </form>
    </dialog>
  );
}
