// Colours for shell text. They are only an aid: the server decides what the text runs.

export interface Token {
  kind: "word" | "command" | "string" | "operator" | "variable" | "comment" | "space";
  text: string;
}

const rules: [Token["kind"], RegExp][] = [
  ["space", /[^\S\n]+|\n/y],
  ["comment", /#[^\n]*/y],
  ["string", /\$'(?:[^'\\]|\\.)*'?|'[^']*'?|\$?"(?:[^"\\]|\\.)*"?/sy],
  ["variable", /\$(?:\{[^}]*\}?|\w+|[@*#?$!-])/y],
  ["operator", /\$\(|&&|\|\||;;|[0-9]*(?:>>|[<>]&[0-9-]?|<<<|<<-?|>|<)|[|&;(){}`]/y],
  ["word", /(?:[^\s'"$`|&;<>(){}\\]|\\.)+|[\\$]/sy],
];
const opensCommand = /^(?:&&|\|\||;;|[|&;({`]|\$\(|\n)$/;

export function tokens(text: string): Token[] {
  const found: Token[] = [];
  let at = 0;
  let command = true; // the next word names a command
  let fresh = true; // at the start of a word, the only place where # starts a comment
  while (at < text.length) {
    const token = next(text, at, fresh);
    at += token.text.length;
    fresh = token.kind === "space" || token.kind === "operator";
    if (token.kind === "word" && command) {
      if (!/^\w+=/.test(token.text)) {
        token.kind = "command";
        command = false;
      }
    } else if (token.kind === "operator" || token.text === "\n") {
      command = opensCommand.test(token.text) || (command && token.text !== ")");
    }
    found.push(token);
  }
  return found;
}

function next(text: string, at: number, fresh: boolean): Token {
  for (const [kind, pattern] of rules) {
    if (kind === "comment" && !fresh) continue;
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match) return { kind, text: match[0] };
  }
  return { kind: "word", text: text[at]! };
}

// word formats one decoded word of a command, in quotes if it could be misread without them.
export function word(text: string): string {
  return /^[\w./:=@%+,~*-]+$/.test(text) ? text : `"${text.replace(/[\\"]/g, "\\$&")}"`;
}
