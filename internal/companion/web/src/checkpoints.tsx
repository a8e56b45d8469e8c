import { useState } from "preact/hooks";
import { clock } from "./countdown";
import { Patch } from "./difference";
import { useLoaded } from "./load";
import { Mono, Page, SessionChoice, Trouble, Twice } from "./parts";
import { SessionName } from "./queue";
import type { State } from "./state";
import type { Store } from "./store";
import { Text } from "./text";
import { visible } from "./visible";
import type { Checkpoint, CheckpointFile, FileDiff } from "./wire";

const shownFiles = 6;

// Checkpoints shows the files as they were before calls changed them, and restores them.
export function Checkpoints({ store, state }: { store: Store; state: State }) {
  const [session, setSession] = useState("");
  const chosen = state.sessions.some((s) => s.sessionId === session) ? session : "";
  const at = chosen && `?sessionId=${encodeURIComponent(chosen)}`;
  const { data, trouble, again } = useLoaded<Checkpoint[]>(store, `/api/checkpoints${at}`, 4_000);
  const newest = [...(data ?? [])].sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt));
  return (
    <Page
      name="Checkpoints"
      lead="Snapshots of files from before a call changed them. Compare them or restore them."
      beside={<SessionChoice sessions={state.sessions} chosen={chosen} choose={setSession} all="all" />}
    >
      <Trouble of={trouble} />
      {data?.length === 0 && <p class="empty">No call has changed a file yet.</p>}
      {newest.length > 0 && (
        <ul class="sheet lines checkpoints">
          {newest.map((c) => (
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
          <span class="time">{clock(of.createdAt)}</span>{" "}
          {of.restores ? (
            <>
              before a restore by <Text of={of.tool} />
            </>
          ) : (
            <strong>
              <Mono of={of.tool} />
            </strong>
          )}{" "}
          <span class="label">
            <SessionName id={of.sessionId} state={state} />
          </span>
          {of.verified && <span class="status up">verified</span>}
          {of.restoredAt && <span class="status">restored {clock(of.restoredAt)}</span>}
          {!of.ended && !of.restores && <span class="status waiting">not ended</span>}
        </p>
        <ul class="files">
          {of.files.slice(0, shownFiles).map((file) => (
            <File of={file} within={of.workspace ?? ""} />
          ))}
        </ul>
        {of.files.length + (of.more ?? 0) > shownFiles && <p class="label">… and {of.files.length + (of.more ?? 0) - shownFiles} more</p>}
        {(of.notes ?? []).map((note) => (
          <p class="label">
            <Text of={note} />
          </p>
        ))}
      </div>
      <button type="button" class="small" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide" : "Compare"}
      </button>
      {open && <Since store={store} of={of} again={again} />}
    </li>
  );
}

const signs: { [change: string]: string } = { created: "+", deleted: "−", leftOut: "!" };

function File({ of, within }: { of: CheckpointFile; within: string }) {
  const change = of.change ?? "";
  const path = within !== "" && of.path.startsWith(`${within}/`) ? of.path.slice(within.length + 1) : of.path;
  return (
    <li>
      <span class={`mark ${change === "created" ? "plus" : change === "deleted" || change === "leftOut" ? "minus" : ""}`} aria-hidden="true">
        {signs[change] ?? "·"}
      </span>
      <Mono of={path} /> <span class="label">{change === "" ? "" : change === "leftOut" ? "could not be kept" : visible(change)}</span>
      {of.why && (
        <span class="label">
          : <Text of={of.why} />
        </span>
      )}
    </li>
  );
}

// Since shows how the files have changed since, and restores them. It overwrites somebody's later changes only if the
// person says so.
function Since({ store, of, again }: { store: Store; of: Checkpoint; again(): void }) {
  const path = (what: string) => `/api/checkpoints/${encodeURIComponent(of.id)}/${what}?sessionId=${encodeURIComponent(of.sessionId)}`;
  const diff = useLoaded<{ files: FileDiff[] }>(store, path("diff"));
  const files = diff.data?.files;
  const later = files?.filter((file) => file.changedSince) ?? [];
  const [stray, setStray] = useState<string[]>([]);
  const restore = (what: { force?: boolean; removeStray?: boolean }) =>
    store
      .ask<{ stray?: string[] }>("POST", path("restore"), what)
      .then((done) => setStray(done.stray ?? []))
      .finally(() => {
        diff.again();
        again();
      });
  return (
    <div class="since">
      <Trouble of={diff.trouble} />
      {files?.length === 0 && <p class="empty">Nothing changed since this checkpoint.</p>}
      {files?.map((file) => (
        <figure class="diff">
          <figcaption>
            <Mono of={file.path} />
            <span class="label">
              {visible(file.state)} since{file.changedSince && ", also by someone else"}
            </span>
          </figcaption>
          {file.hidden ? (
            <p class="empty">The rules deny reading this file: it can be restored but not shown.</p>
          ) : file.diff ? (
            <Patch of={file.diff} />
          ) : (
            <p class="empty">{file.binary ? "This is a binary file." : "There are no lines to compare."}</p>
          )}
        </figure>
      ))}
      {later.length > 0 && (
        <p class="note changed">
          <strong>{later.length === 1 ? "One file has" : `${later.length} files have`} changed since the call.</strong>
        </p>
      )}
      {files && files.length > 0 && store.mayAnswer && (
        <Twice
          label="Restore these files…"
          question={later.length > 0 ? "Overwrite the newer changes too?" : "Restore the files as they were before the call?"}
          confirm={later.length > 0 ? "Overwrite" : "Restore"}
          danger={later.length > 0}
          act={() => restore({ force: later.length > 0 })}
        />
      )}
      {stray.length > 0 && (
        <div class="note changed stray" role="status">
          <strong>A killed server seems to have left {stray.length === 1 ? "this file" : "these files"}:</strong>
          <ul>
            {stray.map((file) => (
              <li>
                <Mono of={file} />
              </li>
            ))}
          </ul>
          <Twice label="Remove…" question={stray.length === 1 ? "Remove this file?" : "Remove these files?"} confirm="Remove" danger act={() => restore({ removeStray: true })} />
        </div>
      )}
    </div>
  );
}
