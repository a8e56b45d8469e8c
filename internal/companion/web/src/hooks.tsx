import { useState } from "preact/hooks";
import { clock } from "./countdown";
import { useLoaded } from "./load";
import { Mono, Page, Trouble } from "./parts";
import { message, type Store } from "./store";
import { Text } from "./text";
import type { Hook } from "./wire";

// Hooks lists the hooks around calls, with a switch for each.
export function Hooks({ store }: { store: Store }) {
  const { data, trouble, again } = useLoaded<Hook[]>(store, "/api/hooks", 4_000);
  const [failed, setFailed] = useState("");
  const turn = (hook: Hook, enabled: boolean) => {
    store.ask("PUT", `/api/hooks/${encodeURIComponent(hook.name)}`, { enabled }).then(
      () => {
        setFailed("");
        again();
      },
      (error: unknown) => {
        setFailed(message(error));
        again();
      },
    );
  };
  return (
    <Page name="Hooks" lead="Hooks run before and after calls, at approvals, and when sessions begin and end.">
      <Trouble of={trouble || failed} />
      {data?.length === 0 && <p class="empty">No hooks are configured.</p>}
      {data && data.length > 0 && (
        <ul class="sheet lines hooks">
          {data.map((hook) => (
            <li key={hook.name} class={hook.enabled ? "" : "off"}>
              <label class="switch">
                <input
                  type="checkbox"
                  role="switch"
                  checked={hook.enabled}
                  disabled={!store.mayAnswer}
                  onChange={(event) => turn(hook, event.currentTarget.checked)}
                />
                <span class="name">
                  <Text of={hook.name} />
                </span>
              </label>
              <p class="label">
                <Text of={hook.event.join(", ")} code />
                {hook.matcher && (
                  <>
                    {" "}
                    of <Mono of={hook.matcher} />
                  </>
                )}
              </p>
              <p>
                <span class="status">
                  <Text of={hook.action} />
                </span>{" "}
                <span class="label">
                  <Text of={hook.when} />
                </span>
              </p>
              <p class="tally">
                {hook.runs === 1 ? "ran once" : `ran ${hook.runs} times`}
                {hook.failures > 0 && <span class="failed">, {hook.failures} failed</span>}
              </p>
              {hook.lastFailure && (
                <p class="failed wide">
                  {clock(hook.lastFailure.at)}, <Text of={hook.lastFailure.event} code />: <Text of={hook.lastFailure.error} />
                </p>
              )}
            </li>
          ))}
        </ul>
      )}
    </Page>
  );
}
