import { useEffect, useState } from "preact/hooks";
import { Difference } from "./difference";
import { Text } from "./text";
import type { FileChange } from "./wire";

const words: { [state: string]: string } = { new: "a new file", changed: "", same: "unchanged", unknown: "" };

export type Compare = (id: string) => Promise<FileChange[]>;

// useChanges asks how a call would change files on disk. Until there is an answer it returns no changes.
export function useChanges(id: string, digest: string, compare: Compare | null): FileChange[] {
  const [known, setKnown] = useState<{ of: string; changes: FileChange[] }>({ of: "", changes: [] });
  const of = `${id} ${digest}`;
  useEffect(() => {
    if (compare === null) return;
    let shown = true;
    compare(id).then(
      (changes) => shown && setKnown({ of, changes }),
      () => {}, // the arguments are shown in any case
    );
    return () => {
      shown = false;
    };
  }, [of, compare === null]);
  return known.of === of ? known.changes : [];
}

// OnDisk shows how the files on disk would change.
export function OnDisk({ of, limit }: { of: FileChange[]; limit: number }) {
  return (
    <section class="readable" aria-label="File changes">
      {of.map((change) => (
        <>
          {(change.state === "new" || change.state === "changed") && (
            <Difference
              path={change.path}
              note={words[change.state] ?? ""}
              before={change.state === "new" ? undefined : (change.before ?? "")}
              after={change.after ?? ""}
              limit={limit / of.length}
              whole
            />
          )}
          {change.state === "same" && (
            <p class="note">
              <Text of={change.path} code /> has this content already: the call changes nothing.
            </p>
          )}
          {change.why && (
            <p class="label remark">
              <Text of={change.why} />
            </p>
          )}
        </>
      ))}
    </section>
  );
}

// tells reports whether the changes replace what the arguments alone can show.
export function tells(changes: FileChange[]): boolean {
  return changes.some((change) => change.state !== "unknown");
}
