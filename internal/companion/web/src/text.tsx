import { pieces } from "./visible";

// Text shows a string that came from outside: as text, apart from its surroundings, with what hides made visible.
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

// More says how much is left out.
export function More({ count, what }: { count: number; what: string }) {
  return (
    <span class="line more">
      … {count} more {what}
    </span>
  );
}
