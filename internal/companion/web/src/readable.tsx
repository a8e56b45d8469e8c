import { OnDisk, tells } from "./changes";
import { Difference } from "./difference";
import { member, text, type Json } from "./json";
import { Badge, label } from "./risk";
import { tokens, word } from "./shell";
import { More, Text } from "./text";
import type { Approval } from "./state";
import type { Command, FileChange } from "./wire";

// Readable shows arguments of the common kinds in a form that is easy to read. It is shown beside the exact arguments,
// never instead of them.
export function Readable({ of, limit, onDisk }: { of: Approval; limit: number; onDisk: FileChange[] }) {
  if (tells(onDisk)) return <OnDisk of={onDisk} limit={limit} />;
  if (!of.args) return null;
  const commands = of.request.commands ?? [];
  if (commands.length > 0) return <Shell script={script(of.args)} commands={commands} limit={limit} />;
  const changes = edits(of.args, of.request.kind);
  if (changes.length === 0) return null;
  return (
    <>
      <Changes of={changes} limit={limit} />
      {onDisk.length > 0 && <OnDisk of={onDisk} limit={limit} />}
    </>
  );
}

function Shell({ script, commands, limit }: { script: string | undefined; commands: Command[]; limit: number }) {
  const parts = script === undefined ? null : partsOf(script, commands);
  if (parts)
    return (
      <section class="readable" aria-labelledby="runs">
        <h3 id="runs">{commands.length === 1 ? "Runs one command" : `Runs ${commands.length} commands`}</h3>
        <pre class="script parts" tabIndex={0} aria-label="Shell text">
          {parts.map((part) =>
            part.command ? (
              <span class={`part ${label(part.command.risk)}`}>
                <Colours of={part.text} />
                <Badge risk={part.command.risk} short plain />
              </span>
            ) : (
              <Colours of={part.text} />
            ),
          )}
        </pre>
        {commands.map((command) => (
          <>
            <Touched name="writes" of={command.writes} />
            <Touched name="reads" of={command.reads} />
          </>
        ))}
      </section>
    );
  return (
    <section class="readable" aria-labelledby="runs">
      {script !== undefined && <Script of={script} limit={limit} />}
      <h3 id="runs">{commands.length === 1 ? "Runs one command" : `Runs ${commands.length} commands`}</h3>
      <ol class="commands">
        {commands.slice(0, limit).map((command) => (
          <li>
            <div class="command">
              <code>
                {command.argv.map((w, i) => (
                  <>
                    {i > 0 && " "}
                    <span class={i === 0 ? "sh-command" : ""}>
                      <Text of={word(w)} code />
                    </span>
                  </>
                ))}
              </code>
              <Badge risk={command.risk} plain />
            </div>
            <Touched name="writes" of={command.writes} />
            <Touched name="reads" of={command.reads} />
            <Touched name="through" of={command.via} />
          </li>
        ))}
      </ol>
      {commands.length > limit && <More count={commands.length - limit} what="commands" />}
    </section>
  );
}

// partsOf finds each command in the text, in order. It returns null if a command is not there exactly as it runs, or
// came through another program: then the text and the commands are shown one after the other.
function partsOf(script: string, commands: Command[]): { text: string; command?: Command }[] | null {
  if (script.length > 2000) return null;
  const parts: { text: string; command?: Command }[] = [];
  let at = 0;
  for (const command of commands) {
    const text = command.argv.join(" ");
    const found = (command.via ?? []).length > 0 || /["'\\$`#]/.test(script) ? -1 : script.indexOf(text, at);
    if (found < 0) return null;
    if (found > at) parts.push({ text: script.slice(at, found) });
    parts.push({ text, command });
    at = found + text.length;
  }
  if (at < script.length) parts.push({ text: script.slice(at) });
  return parts;
}

// Colours shows shell text in colours.
function Colours({ of }: { of: string }) {
  return (
    <>
      {tokens(of).map((token) =>
        token.text.split(/(\n)/).map((part) =>
          part === "\n" || part === "" ? (
            part
          ) : (
            <span class={`sh-${token.kind}`}>
              <Text of={part} code />
            </span>
          ),
        ),
      )}
    </>
  );
}

function Touched({ name, of }: { name: string; of: string[] | undefined }) {
  if (!of || of.length === 0) return null;
  return (
    <p class={`touched ${name === "writes" ? "writes" : ""}`}>
      <span class="label">{name}</span>{" "}
      {of.map((item, i) => (
        <>
          {i > 0 && ", "}
          <code>
            <Text of={item} code />
          </code>
        </>
      ))}
    </p>
  );
}

function Script({ of, limit }: { of: string; limit: number }) {
  const all = of.split("\n");
  const shown = all.slice(0, limit).join("\n").slice(0, limit * 200);
  return (
    <pre class="script" tabIndex={0} aria-label="Shell text">
      {tokens(shown).map((token) =>
        token.kind === "space" ? token.text.split(/(\n)/).map((part) => (part === "\n" || part === "" ? part : <Text of={part} code />)) : (
          <span class={`sh-${token.kind}`}>
            {token.text.split(/(\n)/).map((part) => (part === "\n" ? part : <Text of={part} code />))}
          </span>
        ),
      )}
      {shown.length < of.length && <More count={of.length - shown.length} what="characters" />}
    </pre>
  );
}

const scriptNames = ["command", "cmd", "script", "code", "input"];

function script(args: Json): string | undefined {
  for (const name of scriptNames) {
    const found = text(member(args, name));
    if (found !== undefined) return found;
  }
  return undefined;
}

// Change is one edit of a file, or its whole new content if before is undefined.
interface Change {
  path: string;
  before: string | undefined;
  after: string;
}

const pathNames = ["path", "file_path", "filePath", "filename", "file"];
const beforeNames = ["old_text", "oldText", "old_string", "old_str", "search"];
const afterNames = ["new_text", "newText", "new_string", "new_str", "replace"];
const contentNames = ["content", "contents", "file_text", "text", "data"];

// edits finds file changes by the argument names that servers use.
function edits(args: Json, kind: string): Change[] {
  const path = first(args, pathNames) ?? "";
  const list = member(args, "edits");
  const each = list?.kind === "array" ? list.items : [args];
  const found = each.flatMap((item): Change[] => {
    const before = first(item, beforeNames);
    const after = first(item, afterNames);
    return before === undefined || after === undefined ? [] : [{ path: first(item, pathNames) ?? path, before, after }];
  });
  if (found.length > 0) return found;
  const content = first(args, contentNames);
  return kind === "write_file" && content !== undefined ? [{ path, before: undefined, after: content }] : [];
}

function first(json: Json, names: string[]): string | undefined {
  for (const name of names) {
    const found = text(member(json, name));
    if (found !== undefined) return found;
  }
  return undefined;
}

// Definition shows how a tool's definition differs from the accepted one.
export function Definition({ of, limit }: { of: { old: string; new: string }; limit: number }) {
  return (
    <section aria-labelledby="definition">
      <h3 id="definition">{of.old === "" ? "The tool's definition, never accepted" : "How the tool's definition changed"}</h3>
      <Difference before={of.old === "" ? undefined : of.old} after={of.new} limit={limit} />
      <p class="label">An approval runs this one call. To stop the questions, accept the definition under Tools.</p>
    </section>
  );
}

function Changes({ of, limit }: { of: Change[]; limit: number }) {
  return (
    <section class="readable" aria-label="File changes">
      {of.map((change) => (
        <Difference {...change} note={change.before === undefined ? "the new file" : "replaced passage"} limit={limit / of.length} />
      ))}
    </section>
  );
}
