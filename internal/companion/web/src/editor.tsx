import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Refused } from "./connection";
import { Difference } from "./difference";
import { offsetOf, tokens } from "./jsonc";
import { Trouble } from "./parts";
import { Problems } from "./rules";
import { message, type Store } from "./store";
import { Text } from "./text";
import { pieces } from "./visible";
import type { Check, Fault, Rules } from "./wire";

const pause = 300; // ms after the last key before the text is checked

// Editor changes the rules file. It checks every text while it is typed, and saves only a valid one. Comments stay,
// because the text is the file. It never overwrites what somebody else saved meanwhile.
export function Editor({ store, of, at, done }: { store: Store; of: Rules; at: string; done(): void }) {
  const [base, setBase] = useState(of.text);
  const [text, setText] = useState(of.text);
  const [check, setCheck] = useState<Check>(of);
  const [checked, setChecked] = useState(of.text); // the text that check belongs to
  const [trouble, setTrouble] = useState("");
  const [overtaken, setOvertaken] = useState(false);
  const [busy, setBusy] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => area.current?.focus(), []);
  useEffect(() => {
    if (text === checked) return;
    const timer = setTimeout(() => {
      store.ask<Check>("POST", `/api/rules/check${at}`, { text }).then(
        (found) => {
          setCheck(found);
          setChecked(text);
        },
        (error: unknown) => setTrouble(message(error)),
      );
    }, pause);
    return () => clearTimeout(timer);
  }, [text, checked]);
  const fault = check.fault;
  const off = busy || text === base || fault !== undefined || checked !== text;
  const save = async () => {
    if (off) return;
    setBusy(true);
    setTrouble("");
    try {
      await store.ask("PUT", `/api/rules${at}`, { base, text });
      done();
      return;
    } catch (error) {
      setBusy(false);
      if (error instanceof Refused && error.status === 409) setOvertaken(true);
      else if (error instanceof Refused && error.status === 422) setCheck({ rules: 0, fault: (error.answer as { fault: Fault }).fault });
      else setTrouble(message(error));
    }
  };
  const overtake = async () => {
    try {
      const now = await store.get<Rules>(`/api/rules${at}`);
      setBase(now.text);
      setOvertaken(false);
      area.current?.focus(); // the pressed button is gone
    } catch (error) {
      setTrouble(message(error));
    }
  };
  const go = (place: Fault) => {
    const offset = offsetOf(text, place.line, place.column);
    area.current?.focus();
    area.current?.setSelectionRange(offset, offset);
  };
  const unseen = pieces(text.replaceAll(/[\n\t]/g, "")).filter((piece) => piece.hidden);
  return (
    <form
      class="sheet editing"
      aria-label="Rules file"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <header>
        <h3>
          <Text of={of.file} code />
        </h3>
      </header>
      <Lined
        text={text}
        wrong={fault?.line ?? 0}
        area={area}
        change={setText}
        save={() => void save()}
      />
      <div class="findings" role="status">
        {fault ? (
          <p class="trouble">
            <button type="button" class="link" onClick={() => go(fault)}>
              Line {fault.line}, column {fault.column}
            </button>{" "}
            <Text of={fault.message} />
          </p>
        ) : (
          <p class="label">{checked === text ? `Valid: ${check.rules} rules.` : "Checking…"}</p>
        )}
        {unseen.length > 0 && (
          <p class="trouble">
            The file has invisible characters: <Text of={[...new Set(unseen.map((piece) => piece.text))].join(" ")} />
          </p>
        )}
      </div>
      <Trouble of={trouble} />
      {overtaken && (
        <div class="note refused" role="alert">
          <strong>Somebody else changed the rules.</strong> Nothing was saved. Compare with the current rules, and save again to replace them.{" "}
          <button type="button" onClick={() => void overtake()}>
            Compare
          </button>
        </div>
      )}
      {text !== base && !fault && (
        <details class="compare" open>
          <summary>Changes</summary>
          <Difference before={base} after={text} whole limit={200} />
        </details>
      )}
      {!fault && <Problems of={check.problems ?? []} />}
      <div class="buttons bar">
        <p class="label">Saved rules apply to the next call, in every callgate of this worker.</p>
        <button type="button" onClick={done}>
          {text === base ? "Close" : "Discard changes"}
        </button>
        <button type="submit" class="approve" aria-disabled={off}>
          Save <kbd>Ctrl S</kbd>
        </button>
      </div>
    </form>
  );
}

interface LinedProps {
  text: string;
  wrong: number; // line of the fault; 0 for none
  area: { current: HTMLTextAreaElement | null };
  change(text: string): void;
  save(): void;
}

// Lined is a text area with the same text, numbered and coloured, exactly below it.
function Lined({ text, wrong, area, change, save }: LinedProps) {
  const count = text.split("\n").length;
  const coloured = useMemo(() => tokens(text), [text]);
  return (
    <div class="lined">
      <ol class="numbers" aria-hidden="true">
        {Array.from({ length: count }, (_, i) => (
          <li class={i + 1 === wrong ? "wrong" : ""}>{i + 1}</li>
        ))}
      </ol>
      <div class="text">
        <pre aria-hidden="true">
          {coloured.map((token) => (
            <span class={`jc-${token.kind}`}>{token.text}</span>
          ))}
          {"\n"}
        </pre>
        <textarea
          ref={area}
          aria-label="Text of the rules file"
          aria-invalid={wrong > 0}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          rows={count + 1}
          value={text}
          onInput={(event) => change(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            save();
          }}
        />
      </div>
    </div>
  );
}
