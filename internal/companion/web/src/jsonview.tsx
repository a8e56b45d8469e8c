import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { lineCount, type Json } from "./json";
import { Quoting, Text } from "./text";

// Budget is how many lines and bytes may still be shown, and whether large parts start folded.
interface Budget {
  lines: number;
  bytes: number;
  fold: boolean;
  quotes: string[]; // words to highlight within texts
}

// With fold, anything larger than this starts folded.
const foldLines = 12;
const foldBytes = 1_000;

// JsonTree shows arguments as a tree that can be folded, with names and numbers as they were spelled. It leaves out
// only what exceeds the limits, and says so. With fold, large parts start folded, so that small ones are visible
// whatever comes before them. Use fold only where a person must unfold everything before they can approve. The caller
// MUST give the tree a key that changes with its content, so that nothing is folded because something else was.
export function JsonTree({ of, lines, bytes, fold, quotes = [] }: { of: Json; lines: number; bytes: number; fold: boolean; quotes?: string[] }) {
  return (
    <div class="json">
      <Value of={of} budget={{ lines, bytes, fold, quotes: [...quotes, ...quotes.map(escaped)] }} />
    </div>
  );
}

// Value is called as a function for inner values, so that the budget is spent in order.
function Value({ of, budget }: { of: Json; budget: Budget }) {
  return <>{value(of, budget)}</>;
}

function value(json: Json, budget: Budget): ComponentChildren {
  switch (json.kind) {
    case "object":
      return container(
        json.members.map(([name, member]) => ({ name, member })),
        "{}",
        budget,
      );
    case "array":
      return container(
        json.items.map((member, i) => ({ name: String(i), member, index: true })),
        "[]",
        budget,
      );
    case "string":
      return text(json.value, budget);
    default:
      spend(budget, 1, json.text.length);
      return <span class={`json-${json.kind}`}>{json.text}</span>;
  }
}

function container(items: { name: string; member: Json; index?: boolean }[], empty: string, budget: Budget): ComponentChildren {
  if (items.length === 0) return <span class="json-word">{empty}</span>;
  const rows: ComponentChildren[] = [];
  for (const [i, { name, member, index }] of items.entries()) {
    if (budget.lines <= 0 || budget.bytes <= 0) {
      rows.push(<li class="more">… {items.length - i} more</li>);
      break;
    }
    spend(budget, 0, name.length);
    const head = (
      <span class={index ? "json-index" : "json-name"}>
        <Text of={index || simpleName.test(name) ? name : quoted(name)} code />
      </span>
    );
    rows.push(<li>{foldable(member) ? folding(head, member, budget) : [head, value(member, budget)]}</li>);
  }
  return <ul>{rows}</ul>;
}

function foldable(json: Json): boolean {
  switch (json.kind) {
    case "object":
      return json.members.length > 0;
    case "array":
      return json.items.length > 0;
    case "string":
      return json.value.length > foldBytes || json.value.includes("\n");
    default:
      return false;
  }
}

function folding(head: ComponentChildren, json: Json, budget: Budget): ComponentChildren {
  const { lines, bytes, fold, quotes } = budget;
  if (fold && large(json)) {
    spend(budget, 1, 0);
    return <Fold head={head} of={json} inside={() => value(json, { lines, bytes, fold, quotes })} />;
  }
  return <Fold head={head} of={json} shown={value(json, budget)} />;
}

function large(json: Json): boolean {
  return json.kind === "string" ? json.value.length > foldBytes || json.value.split("\n").length > foldLines : lineCount(json) > foldLines || bytesOf(json) > foldBytes;
}

function bytesOf(json: Json): number {
  switch (json.kind) {
    case "object":
      return json.members.reduce((sum, [name, member]) => sum + name.length + bytesOf(member), 0);
    case "array":
      return json.items.reduce((sum, item) => sum + bytesOf(item), 0);
    case "string":
      return json.value.length;
    default:
      return json.text.length;
  }
}

// Fold is a part that opens and closes with its head, also by keyboard. It draws inside only once it is opened.
function Fold({ head, of, shown, inside }: { head: ComponentChildren; of: Json; shown?: ComponentChildren; inside?: () => ComponentChildren }) {
  const [open, setOpen] = useState(inside === undefined);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {head}
        {!open && <span class="more">{extent(of)}</span>}
      </summary>
      {inside ? open && inside() : shown}
    </details>
  );
}

// extent describes how much is folded.
function extent(json: Json): string {
  const count = (n: number, what: string) => `${n.toLocaleString()} ${what}${n === 1 ? "" : "s"}`;
  switch (json.kind) {
    case "object":
      return `{ ${count(json.members.length, "member")} }`;
    case "array":
      return `[ ${count(json.items.length, "item")} ]`;
    case "string":
      return `${count(json.value.split("\n").length, "line")}, ${count(json.value.length, "character")}`;
    default:
      return "";
  }
}

function text(value: string, budget: Budget): ComponentChildren {
  const lines = value.split("\n");
  const shown: string[] = [];
  let left = value.length;
  for (const line of lines) {
    if (budget.lines <= 0 || budget.bytes <= 0) break;
    const part = line.slice(0, budget.bytes);
    spend(budget, 1, part.length + 1);
    left -= part.length + 1;
    shown.push(part);
    if (part.length < line.length) break;
  }
  const more = left > 0 && <span class="more">… {left} more characters</span>;
  if (lines.length === 1) {
    return (
      <span class="json-string">
        <Quoting of={quoted(shown[0] ?? "")} quotes={budget.quotes} code />
        {more}
      </span>
    );
  }
  return (
    <span class="json-string block">
      {shown.map((line) => (
        <span class="line">
          <Quoting of={line} quotes={budget.quotes} code />
          {"\n"}
        </span>
      ))}
      {more}
    </span>
  );
}

// Names that could be mistaken for something else are quoted, and no text can end its own quotes.
const simpleName = /^[\w$@./-]+$/;

function quoted(text: string): string {
  return `"${escaped(text)}"`;
}

function escaped(text: string): string {
  return text.replace(/[\\"]/g, "\\$&");
}

function spend(budget: Budget, lines: number, bytes: number): void {
  budget.lines -= lines;
  budget.bytes -= bytes;
}
