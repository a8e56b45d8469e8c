// Differences of texts, drawn line by line.
import { diff, lines, rows, type Line, type Row } from "./diff";
import { More, Text } from "./text";

interface Props {
  path?: string;
  note?: string; // what happens to the path
  before: string | undefined; // undefined if there was nothing
  after: string;
  limit?: number; // lines to show
  whole?: boolean; // both texts are whole files: lines are numbered, and lines far from a change are left out
}

// Difference shows how a text changes.
export function Difference({ path = "", note = "", before, after, limit = Infinity, whole = false }: Props) {
  const all: Line[] = before === undefined ? lines(after).map((text) => ({ op: "new", text })) : diff(before, after);
  const laid = rows(all, whole ? 3 : Infinity);
  const shown = laid.slice(0, limit);
  return (
    <figure class="diff">
      {path !== "" && (
        <figcaption>
          <code>
            <Text of={path} code />
          </code>
          <span class="label">{note}</span>
          <Counts of={all} />
        </figcaption>
      )}
      <pre tabIndex={0} aria-label="Changed lines" class={whole ? "numbered" : ""}>
        {shown.map((row) => (
          <Drawn row={row} numbered={whole} />
        ))}
        {shown.length < laid.length && <More count={laid.length - shown.length} what="lines" />}
      </pre>
    </figure>
  );
}

function Counts({ of }: { of: Line[] }) {
  const count = (op: Line["op"]) => of.filter((line) => line.op === op).length;
  return (
    <span class="counts">
      <span class="plus">+{count("new")}</span> <span class="minus">−{count("gone")}</span>
    </span>
  );
}

const signs = { same: "  ", gone: "- ", new: "+ " };

function Drawn({ row, numbered }: { row: Row; numbered: boolean }) {
  if ("gap" in row) {
    return (
      <span class="line gap">
        {row.gap === 1 ? "1 unchanged line" : `${row.gap} unchanged lines`}
        {"\n"}
      </span>
    );
  }
  const { line, before, after, changed } = row;
  const all = [...line.text];
  return (
    <span class={`line diff-${line.op}`}>
      {numbered && (
        <span class="number" aria-hidden="true">
          {line.op === "gone" ? before : after}
        </span>
      )}
      <span class="sign">{signs[line.op]}</span>
      {changed ? (
        <>
          <Text of={all.slice(0, changed[0]).join("")} code />
          <mark>
            <Text of={all.slice(changed[0], changed[1]).join("")} code />
          </mark>
          <Text of={all.slice(changed[1]).join("")} code />
        </>
      ) : (
        <Text of={line.text} code />
      )}
      {"\n"}
    </span>
  );
}

// Patch shows a unified diff.
export function Patch({ of, limit = 400 }: { of: string; limit?: number }) {
  const whole = lines(of);
  const all = whole.slice(Math.max(0, whole.findIndex((line) => line.startsWith("@@")))); // the path is shown above
  const op = (line: string) => (line.startsWith("+") ? "new" : line.startsWith("-") ? "gone" : line.startsWith("@@") ? "at" : "same");
  return (
    <pre tabIndex={0} aria-label="Changed lines">
      {all.slice(0, limit).map((line) => (
        <span class={`line diff-${op(line)}`}>
          <Text of={line} code />
          {"\n"}
        </span>
      ))}
      {all.length > limit && <More count={all.length - limit} what="lines" />}
    </pre>
  );
}
