// Line differences, for edits.

export interface Line {
  op: "same" | "gone" | "new";
  text: string;
}

const maxTable = 4_000_000; // cells of the table; larger texts are shown as all gone, all new

// diff returns the lines of both texts in the order of a patch.
export function diff(before: string, after: string): Line[] {
  const a = lines(before);
  const b = lines(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const same = (text: string): Line => ({ op: "same", text });
  return [
    ...a.slice(0, start).map(same),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
}

// lines splits a text into lines. A final line break adds no empty line.
export function lines(text: string): string[] {
  const all = text.split("\n");
  if (all.at(-1) === "") all.pop();
  return all;
}

// middle finds the longest common subsequence.
function middle(a: string[], b: string[]): Line[] {
  const width = b.length + 1;
  if ((a.length + 1) * width > maxTable) {
    return [...a.map((text): Line => ({ op: "gone", text })), ...b.map((text): Line => ({ op: "new", text }))];
  }
  const length = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i * width + j] =
        a[i] === b[j] ? length[(i + 1) * width + j + 1]! + 1 : Math.max(length[(i + 1) * width + j]!, length[i * width + j + 1]!);
    }
  }
  const out: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ op: "same", text: a[i]! });
      i++;
      j++;
    } else if (j === b.length || (i < a.length && length[(i + 1) * width + j]! >= length[i * width + j + 1]!)) {
      out.push({ op: "gone", text: a[i++]! });
    } else {
      out.push({ op: "new", text: b[j++]! });
    }
  }
  return out;
}

// Row is one line of a difference as it is shown: with its numbers before and after, and the part that differs from the
// line it replaces. Unchanged lines far from any change form one gap.
export type Row = { gap: number } | { line: Line; before: number; after: number; changed?: [start: number, end: number] };

// rows lays lines out, with some unchanged lines around each change. Infinity leaves nothing out.
export function rows(all: Line[], around = 3): Row[] {
  const near = all.map(() => false);
  all.forEach((line, i) => {
    if (line.op === "same") return;
    const last = Math.min(all.length - 1, i + around);
    for (let j = Math.max(0, i - around); j <= last; j++) near[j] = true;
  });
  const out: Row[] = [];
  let before = 0;
  let after = 0;
  all.forEach((line, i) => {
    if (line.op !== "new") before++;
    if (line.op !== "gone") after++;
    const last = out.at(-1);
    if (near[i] || around === Infinity) out.push({ line, before, after });
    else if (last && "gap" in last) last.gap++;
    else out.push({ gap: 1 });
  });
  pair(out);
  return out;
}

// pair marks the differences in lines that replace each other one by one.
function pair(all: Row[]): void {
  for (let i = 0; i < all.length; ) {
    const run = (op: Line["op"], from: number) => {
      let to = from;
      for (let row = all[to]; row && "line" in row && row.line.op === op; row = all[to]) to++;
      return to;
    };
    const middle = run("gone", i);
    const end = run("new", middle);
    if (middle - i > 0 && middle - i === end - middle) {
      for (let k = 0; k < middle - i; k++) mark(all[i + k]!, all[middle + k]!);
    }
    i = Math.max(end, i + 1);
  }
}

function mark(gone: Row, fresh: Row): void {
  if ("gap" in gone || "gap" in fresh) return;
  const a = [...gone.line.text];
  const b = [...fresh.line.text];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  if (start + end < Math.min(a.length, b.length) / 3) return; // hardly anything is the same: the whole line is new
  gone.changed = [start, a.length - end];
  fresh.changed = [start, b.length - end];
}
