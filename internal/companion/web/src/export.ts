import type { Record } from "./wire";

const columns = ["time", "decision", "outcome", "host", "project", "tool", "risk", "summary", "reason", "by", "durationMs", "resultBytes", "sessionId", "callId", "hash"] as const;

// jsonl returns one record a line, as in REST.
export function jsonl(records: Record[]): string {
  return records.map((r) => JSON.stringify(r) + "\n").join("");
}

// csv returns records for a spreadsheet. It puts an apostrophe before a cell that would be taken for a formula.
export function csv(records: Record[]): string {
  const rows = records.map((r) => columns.map((name) => cell(valueOf(r, name))).join(","));
  return [columns.join(","), ...rows].join("\r\n") + "\r\n";
}

function valueOf(r: Record, name: (typeof columns)[number]): string {
  switch (name) {
    case "outcome":
      return !r.outcome ? "" : r.outcome.error || (r.outcome.isError ? "failed" : "ran");
    case "durationMs":
    case "resultBytes":
      return String(r.outcome?.[name] ?? "");
    default:
      return String(r[name] ?? "");
  }
}

function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// save offers a text as a file to download.
export function save(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
