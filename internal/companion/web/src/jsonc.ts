// Colours for the text of a rules file. They are only an aid: the server decides what the text means.

export interface Token {
  kind: "comment" | "name" | "string" | "allow" | "ask" | "confirm" | "deny" | "plain";
  text: string;
}

const pattern = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"(?:[^"\\\n]|\\.)*"?|[^"/]+|\//gy;

export function tokens(text: string): Token[] {
  const found: Token[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    found.push({ kind: kindOf(match[0], text, pattern.lastIndex), text: match[0] });
  }
  return found;
}

function kindOf(token: string, text: string, end: number): Token["kind"] {
  if (token.startsWith("//") || token.startsWith("/*")) return "comment";
  if (!token.startsWith('"')) return "plain";
  if (/^\s*:/.test(text.slice(end, end + 200))) return "name";
  const action = token.slice(1, -1);
  return action === "allow" || action === "ask" || action === "confirm" || action === "deny" ? action : "string";
}

// offsetOf returns the offset of a line and column in a text. Columns count bytes from 1, as in compilers.
export function offsetOf(text: string, line: number, column: number): number {
  let start = 0;
  for (let i = 1; i < line; i++) {
    const end = text.indexOf("\n", start);
    if (end < 0) return text.length;
    start = end + 1;
  }
  let bytes = 1;
  let at = start;
  for (const c of text.slice(start)) {
    if (bytes >= column || c === "\n") break;
    bytes += new TextEncoder().encode(c).length;
    at += c.length;
  }
  return at;
}
