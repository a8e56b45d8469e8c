import type { Record } from "./wire";

// Found is what a page of the trail says.
export interface Found {
  records: Record[]; // newest first
  next?: string; // where older ones begin; undefined at the end
}

// Trail is what was read so far.
export interface Trail extends Found {
  filter: string;
  more: boolean; // the person asked for older calls
}

// joined puts the newest calls before those that were read. It keeps the older calls that the person asked for.
export function joined(was: Trail, newest: Found, filter: string): Trail {
  const fresh = { next: undefined, ...newest, filter, more: false };
  const last = newest.records.at(-1);
  const at = last && was.more && was.filter === filter ? was.records.findIndex((r) => r.callId === last.callId) : -1;
  if (at < 0) return fresh;
  const there = new Set(newest.records.map((r) => r.callId));
  const older = was.records.slice(at + 1).filter((r) => !there.has(r.callId));
  return { ...was, records: [...newest.records, ...older] };
}
