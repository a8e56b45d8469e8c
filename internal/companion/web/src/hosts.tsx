import { useLoaded } from "./load";
import { Mono } from "./parts";
import type { Store } from "./store";
import { Text } from "./text";
import type { HostState } from "./wire";

// Next says what to do next while nothing waits, and how the hosts of this machine are connected to the gate.
export function Next({ store }: { store: Store }) {
  const { data } = useLoaded<HostState[]>(store, "/api/hosts", 15_000);
  if (data === null) return null;
  const found = data.filter((line) => line.host !== "hosts");
  return (
    <section class="next" aria-labelledby="next">
      <h2 id="next">What happens next</h2>
      {found.length === 0 ? (
        <p>
          No host was found on this machine. Start one, then run <code>callgate connect</code>.
        </p>
      ) : (
        <ol>
          <li>Restart the hosts that you connected.</li>
          <li>Work as usual. Your rules answer most calls, and those do not appear here.</li>
          <li>The other calls wait here for your answer, and so does the agent.</li>
        </ol>
      )}
      <ul class="hosts" aria-label="Hosts on this machine">
        {found.map((line) => (
          <li key={line.host + line.text} class={line.state}>
            <span class="status">{line.state}</span>
            <span>
              <Text of={line.text} />
              {line.cure && (
                <>
                  {" "}
                  <Mono of={line.cure} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const answered = "callgate.answered";

// answeredBefore reports whether a person has answered on this browser's page.
export const answeredBefore = () => localStorage.getItem(answered) !== null;

export const rememberAnswer = () => localStorage.setItem(answered, "yes");

// First explains the first question that a person gets.
export function First() {
  return (
    <p class="note first" role="note">
      <strong>Your first question.</strong> An agent wants to do this and waits. <b>Approve</b> runs it once. <b>Reject</b> refuses it, and what you type tells the agent why.{" "}
      <b>Always</b> adds a rule for calls like it, so that you are not asked again. If nobody answers in time, it does not run.
    </p>
  );
}
