import { pieces, split } from "./visible";

// Text shows a string from outside: as text, isolated from its surroundings, with hidden characters made visible.
export function Text({ of, code = false }: { of: string; code?: boolean }) {
  return (
    <bdi class={code ? "code" : "prose"}>
      {pieces(of).map((piece) =>
        piece.hidden ? (
          <span class="hidden-char" title="An invisible character">
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </bdi>
  );
}

// Quoting shows a text from outside and highlights the quotes in it.
export function Quoting({ of, quotes, code = false }: { of: string; quotes: string[]; code?: boolean }) {
  return (
    <>
      {split(of, quotes).map(({ text, quote }) =>
        quote ? (
          <mark>
            <Text of={text} code={code} />
          </mark>
        ) : (
          <Text of={text} code={code} />
        ),
      )}
    </>
  );
}

// More says how much is left out.
export function More({ count, what }: { count: number; what: string }) {
  return (
    <span class="line more">
      … {count} more {what}
    </span>
  );
}
