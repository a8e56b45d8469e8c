// Line differences, for edits.

export interface Line {
  op: "same" | "gone" | "new";
  text: string;
}

const maxTable = 4_000_000; // cells of the table; more is shown as all gone, all new

// diff returns the lines of both texts in the order that a patch has them.
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

// lines splits a text; what follows the last line break is a line unless it is empty.
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
