import type { ComponentChildren } from "preact";
import type { Json } from "./json";
import { Text } from "./text";

// Budget is how many lines and bytes may still be shown.
interface Budget {
  lines: number;
  bytes: number;
}

// JsonTree shows arguments as a tree, with names and numbers as they were spelled. Nothing of it is left out but
// what is over the limits, and that is said.
export function JsonTree({ of, lines, bytes }: { of: Json; lines: number; bytes: number }) {
  return (
    <div class="json">
      <Value of={of} budget={{ lines, bytes }} />
    </div>
  );
}

// Value is called as a function for what is inside it, so that the budget is spent in order.
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
    rows.push(
      <li>
        <span class={index ? "json-index" : "json-name"}>
          <Text of={index || simpleName.test(name) ? name : quoted(name)} code />
        </span>
        {value(member, budget)}
      </li>,
    );
  }
  return <ul>{rows}</ul>;
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
        <Text of={quoted(shown[0] ?? "")} code />
        {more}
      </span>
    );
  }
  return (
    <span class="json-string block">
      {shown.map((line) => (
        <span class="line">
          <Text of={line} code />
          {"\n"}
        </span>
      ))}
      {more}
    </span>
  );
}

// Names that could be taken for something else stand in quotes, and no text can end its own.
const simpleName = /^[\w$@./-]+$/;

function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

function spend(budget: Budget, lines: number, bytes: number): void {
  budget.lines -= lines;
  budget.bytes -= bytes;
}
