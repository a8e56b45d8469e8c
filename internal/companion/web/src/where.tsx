import { Text } from "./text";
import type { Host, Origin } from "./wire";

// Where shows which of several windows a call comes from: a tenant or unusual worker, the host, the identity that it
// has proved, project folder, branch, agent and terminal.
export function Where({ client, origin, agent = "", worker = "", short = false }: { client: Host; origin?: Origin; agent?: string; worker?: string; short?: boolean }) {
  const folder = origin?.folder ?? "";
  const name = folder.split(/[\\/]/).filter(Boolean).at(-1) ?? "";
  return (
    <span class="where">
      {worker && worker !== "default" && (
        <strong class="where-worker">
          <Text of={worker} code />
        </strong>
      )}
      <strong>
        <Text of={client.name || "an unnamed host"} />
      </strong>
      {client.principal && (
        <span>
          <span class="label">signed in as</span> <Text of={client.principal} code />
        </span>
      )}
      {folder && (
        <span class="where-folder" title={folder}>
          <span class="label">in</span> <Text of={short ? name || folder : folder} code />
        </span>
      )}
      {origin?.branch && (
        <span>
          <span class="label">on</span> <Text of={origin.branch} code />
        </span>
      )}
      {!short && agent && agent !== "default" && (
        <span>
          <span class="label">agent</span> <Text of={agent} code />
        </span>
      )}
      {!short && origin?.terminal && (
        <span>
          <span class="label">from</span> <Text of={origin.terminal} />
        </span>
      )}
    </span>
  );
}
