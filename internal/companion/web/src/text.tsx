import { pieces } from "./visible";

// Text shows a string that came from outside: as text, apart from its surroundings, with what hides made visible.
export function Text({ of, code = false }: { of: string; code?: boolean }) {
  return (
    <bdi class={code ? "code" : "prose"}>
      {pieces(of).map((piece) =>
        piece.hidden ? (
          <span class="hidden-char" title="A character that does not show as itself">
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </bdi>
  );
}

// Lines shows text of several lines, each on its own.
export function Lines({ of, limit }: { of: string; limit: number }) {
  const all = of.split("\n");
  return (
    <>
      {all.slice(0, limit).map((line) => (
        <span class="line">
          <Text of={line} code />
          {"\n"}
        </span>
      ))}
      {all.length > limit && <More count={all.length - limit} what="lines" />}
    </>
  );
}

export function More({ count, what }: { count: number; what: string }) {
  return (
    <span class="line more">
      … {count} more {what}
    </span>
  );
}
