import { useState } from "preact/hooks";
import { clock } from "./countdown";
import { Patch } from "./difference";
import { useLoaded } from "./load";
import { Mono, Page, SessionChoice, Trouble, Twice } from "./parts";
import { SessionName } from "./queue";
import type { State } from "./state";
import type { Store } from "./store";
import { visible } from "./visible";
import type { Checkpoint, CheckpointDiff } from "./wire";

// Checkpoints shows the files as they were before calls that changed them, and brings them back.
export function Checkpoints({ store, state }: { store: Store; state: State }) {
  const [session, setSession] = useState("");
  const chosen = state.sessions.some((s) => s.sessionId === session) ? session : "";
  const at = chosen && `?sessionId=${encodeURIComponent(chosen)}`;
  const { data, trouble, again } = useLoaded<Checkpoint[]>(store, `/api/checkpoints${at}`, 4_000);
  return (
    <Page
      name="Checkpoints"
      lead="Files as they were before a call changed them."
      beside={<SessionChoice sessions={state.sessions} chosen={chosen} choose={setSession} all="all" />}
    >
      <Trouble of={trouble} />
      {data?.length === 0 && <p class="empty">No call has changed a file yet.</p>}
      {data && data.length > 0 && (
        <ul class="sheet lines checkpoints">
          {data.map((c) => (
            <Row key={c.id} store={store} state={state} of={c} again={again} />
          ))}
        </ul>
      )}
    </Page>
  );
}

function Row({ store, state, of, again }: { store: Store; state: State; of: Checkpoint; again(): void }) {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <div class="checkpoint">
        <p>
          <span class="time">{clock(of.createdAt)}</span> <Mono of={of.tool} />{" "}
          <span class="label">
            <SessionName id={of.sessionId} state={state} />
          </span>
          {(of.verified === false || (typeof of.verified === "string" && of.verified !== "ok")) && <span class="status down"> not verified</span>}
        </p>
        <ul class="files">
          {of.files.map((file) => (
            <li>
              <span class="label">{visible(file.state)}</span> <Mono of={file.path} /> <span class="label">{size(file.size)}</span>
            </li>
          ))}
        </ul>
      </div>
      <button type="button" class="small" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide" : "What changed"}
      </button>
      {open && <Since store={store} of={of} again={again} />}
    </li>
  );
}

// Since shows what became of the files, and takes them back. Files that were changed by others afterwards are only
// overwritten when a person says so.
function Since({ store, of, again }: { store: Store; of: Checkpoint; again(): void }) {
  const at = `?sessionId=${encodeURIComponent(of.sessionId)}`;
  const { data, trouble } = useLoaded<CheckpointDiff>(store, `/api/checkpoints/${encodeURIComponent(of.id)}/diff${at}`);
  const later = data?.files.filter((file) => file.changedSince) ?? [];
  return (
    <div class="since">
      <Trouble of={trouble} />
      {data?.files.map((file) => (
        <figure class="diff">
          <figcaption>
            <Mono of={file.path} />
            <span class="label">{file.changedSince ? "changed by somebody else since" : "since the checkpoint"}</span>
          </figcaption>
          {file.binary ? <p class="empty">It is no text.</p> : file.diff === "" ? <p class="empty">It is as it was.</p> : <Patch of={file.diff} />}
        </figure>
      ))}
      {later.length > 0 && (
        <p class="note changed">
          <strong>Somebody else changed {later.length === 1 ? "a file" : `${later.length} files`} after this call.</strong> To bring the checkpoint back loses that, too.
        </p>
      )}
      {data && store.mayAnswer && (
        <Twice
          label="Bring these files back…"
          question={later.length > 0 ? "Overwrite what came later, too?" : "Write the files as they were before the call?"}
          confirm={later.length > 0 ? "Overwrite" : "Bring back"}
          danger={later.length > 0}
          act={() => store.ask("POST", `/api/checkpoints/${encodeURIComponent(of.id)}/restore${at}`, { force: later.length > 0 }).finally(again)}
        />
      )}
    </div>
  );
}

function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1 << 20) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}
