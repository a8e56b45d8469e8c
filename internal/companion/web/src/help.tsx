import { useLayoutEffect, useRef } from "preact/hooks";

const keys: [keys: string, what: string][] = [
  ["j", "the next approval"],
  ["k", "the one before"],
  ["y", "approve once"],
  ["r", "reject, with a word to the model"],
  ["a", "always: choose what is allowed from now on"],
  ["e", "edit the arguments, then approve"],
  ["v", "show all of the arguments"],
  ["x", "put into the selection, or take out"],
  ["1 … 7", "the views, in their order"],
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
      <p class="label">When an approval comes up by itself, keys and clicks count only after they have rested for 0.4 seconds, so that typing into it answers nothing.</p>
      <form method="dialog" class="buttons">
        <button type="submit" autofocus>
          Close <kbd>Esc</kbd>
        </button>
      </form>
    </dialog>
  );
}
