// JSON without loss. JSON.parse would turn 1.0e2 into 100 and 2^53+1 into 2^53, so a person would approve something
// else than what is sent. Here numbers keep their spelling and members their order.

export type Json =
  | { kind: "object"; members: [name: string, value: Json][] }
  | { kind: "array"; items: Json[] }
  | { kind: "string"; value: string }
  | { kind: "number" | "word"; text: string };

const maxDepth = 500; // nesting that is drawn; the stack would hold several times as much

// parse parses a JSON text. It throws a SyntaxError that says where it stopped.
export function parse(text: string): Json {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.end();
  return value;
}

// rawMember returns the text of a member of the object in text, byte for byte.
export function rawMember(text: string, name: string): string | undefined {
  const reader = new Reader(text);
  let found: string | undefined;
  reader.object(0, (member, start, end) => {
    if (member === name) found = text.slice(start, end);
  });
  return found;
}

class Reader {
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
    this.space();
  }

  value(depth: number): Json {
    if (depth > maxDepth) this.fail("nested too deeply");
    const c = this.text[this.at];
    if (c === "{") return { kind: "object", members: this.object(depth) };
    if (c === "[") return { kind: "array", items: this.array(depth) };
    if (c === '"') return { kind: "string", value: this.string() };
    const number = this.match(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    if (number) return { kind: "number", text: number };
    const word = this.match(/true|false|null/y);
    if (word) return { kind: "word", text: word };
    return this.fail("a value is missing");
  }

  object(depth: number, each?: (name: string, start: number, end: number) => void): [string, Json][] {
    const members: [string, Json][] = [];
    this.list("{", "}", () => {
      if (this.text[this.at] !== '"') this.fail("a member's name is missing");
      const name = this.string();
      this.take(":");
      const start = this.at;
      members.push([name, this.value(depth + 1)]);
      each?.(name, start, this.at);
    });
    return members;
  }

  private array(depth: number): Json[] {
    const items: Json[] = [];
    this.list("[", "]", () => items.push(this.value(depth + 1)));
    return items;
  }

  private list(open: string, close: string, item: () => void): void {
    this.take(open);
    if (this.text[this.at] !== close) {
      for (;;) {
        item();
        this.space();
        if (this.text[this.at] !== ",") break;
        this.take(",");
      }
    }
    if (this.text[this.at] !== close) this.fail(`"," or "${close}" is missing`);
    this.at++;
  }

  private string(): string {
    const start = this.at;
    let end = start + 1;
    for (let c = this.text.charCodeAt(end); c !== 0x22; c = this.text.charCodeAt(end)) {
      if (Number.isNaN(c) || c < 0x20) return this.fail("a text does not end, or holds a bare control character");
      end += c === 0x5c ? 2 : 1;
    }
    this.at = end + 1;
    try {
      return JSON.parse(this.text.slice(start, this.at)) as string;
    } catch {
      return this.fail("a text holds an unknown escape");
    } finally {
      this.space();
    }
  }

  private take(c: string): void {
    if (this.text[this.at] !== c) this.fail(`"${c}" is missing`);
    this.at++;
    this.space();
  }

  end(): void {
    this.space();
    if (this.at !== this.text.length) this.fail("something follows the value");
  }

  private space(): void {
    this.match(/[ \t\r\n]+/y);
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  private fail(what: string): never {
    const before = this.text.slice(0, this.at);
    const line = before.split("\n").length;
    throw new SyntaxError(`${what} (line ${line}, column ${this.at - before.lastIndexOf("\n")})`);
  }
}

// format returns JSON for editing, indented by two spaces. Invisible characters become \u escapes.
export function format(json: Json, indent = ""): string {
  const deeper = indent + "  ";
  switch (json.kind) {
    case "object":
      if (json.members.length === 0) return "{}";
      return `{\n${json.members.map(([name, value]) => `${deeper}${quote(name)}: ${format(value, deeper)}`).join(",\n")}\n${indent}}`;
    case "array":
      if (json.items.length === 0) return "[]";
      return `[\n${json.items.map((item) => deeper + format(item, deeper)).join(",\n")}\n${indent}]`;
    case "string":
      return quote(json.value);
    default:
      return json.text;
  }
}

// indented returns JSON text on several lines, or any other text unchanged.
export function indented(text: string): string {
  try {
    return format(parse(text));
  } catch {
    return text;
  }
}

const unseen = /[^\p{L}\p{N}\p{P}\p{S} ]|\p{Default_Ignorable_Code_Point}/gu;

function quote(text: string): string {
  return JSON.stringify(text).replace(unseen, (c) =>
    c.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  );
}

// member returns a member of an object, or undefined.
export function member(json: Json | undefined, name: string): Json | undefined {
  return json?.kind === "object" ? json.members.find(([n]) => n === name)?.[1] : undefined;
}

// text returns the value of a string, or undefined for any other JSON.
export function text(json: Json | undefined): string | undefined {
  return json?.kind === "string" ? json.value : undefined;
}

// lineCount estimates how many lines it takes to show all of it.
export function lineCount(json: Json): number {
  switch (json.kind) {
    case "object":
      return json.members.reduce((sum, [, value]) => sum + lineCount(value), 2);
    case "array":
      return json.items.reduce((sum, item) => sum + lineCount(item), 2);
    case "string":
      return json.value.split("\n").length;
    default:
      return 1;
  }
}
