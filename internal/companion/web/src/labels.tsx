import { useState } from "preact/hooks";
import { Text } from "./text";
import type { Labels, Tool } from "./wire";
import { visible } from "./visible";
import { yaml } from "./yaml";

const effects: [effect: string, words: string][] = [
  ["none", "nothing: it only reads"],
  ["own", "changes your own data, and can be undone"],
  ["outside", "sends or shows something to others"],
  ["money", "pays or books"],
  ["deletes", "deletes permanently"],
  ["access", "changes permissions"],
];

const returns: [label: string, words: string][] = [
  ["private", "your own data"],
  ["untrusted", "text written by others"],
  ["secret", "credentials"],
  ["public", "open to anyone"],
];

// told formats labels as one line.
export function told(of: Labels): string {
  const list = (name: string, values?: string[]) => (values && values.length > 0 ? `; ${name} ${values.map(visible).join(", ")}` : "");
  return `effect ${of.effect}${list("returns", of.returns)}${list("destination", of.destination)}${list("content", of.content)}`;
}

// LabelForm lets a person correct the draft for a tool without labels, and shows what to put into callgate.yaml. It
// changes nothing itself: until the configuration has the labels, the draft only tightens.
export function LabelForm({ server, of }: { server: string; of: Tool }) {
  const [labels, setLabels] = useState<Labels>(of.draft ?? { effect: "outside" });
  const [copied, setCopied] = useState(false);
  const text = yaml(server, of.name, labels);
  const change = (next: Labels) => {
    setLabels(next);
    setCopied(false);
  };
  const toggle = (key: "returns" | "destination" | "content", value: string, on: boolean) => {
    const rest = (labels[key] ?? []).filter((v) => v !== value);
    change({ ...labels, [key]: on ? [...rest, value] : rest });
  };
  const boxes = (key: "returns" | "destination" | "content", values: string[], words: { [value: string]: string } = {}) =>
    values.map((value) => (
      <label class="step" key={value}>
        <input type="checkbox" checked={(labels[key] ?? []).includes(value)} onChange={(event) => toggle(key, value, event.currentTarget.checked)} />
        <span>
          <Text of={value} code /> {words[value] && <span class="label">{words[value]}</span>}
        </span>
      </label>
    ));
  return (
    <form class="labels panel" aria-label={`Labels of ${visible(of.tool)}`} onSubmit={(event) => event.preventDefault()}>
      <p>
        This tool has no labels, so its calls ask. This draft comes from its name, schema and annotations. Correct it and add it to{" "}
        <code>callgate.yaml</code>.
      </p>
      <label class="field">
        A call
        <select value={labels.effect} onChange={(event) => change({ ...labels, effect: event.currentTarget.value })}>
          {effects.map(([effect, words]) => (
            <option value={effect}>
              {effect}: {words}
            </option>
          ))}
        </select>
      </label>
      <fieldset>
        <legend>Its results contain</legend>
        {boxes("returns", returns.map(([label]) => label), Object.fromEntries(returns))}
      </fieldset>
      {(of.arguments ?? []).length > 0 && (
        <>
          <fieldset>
            <legend>Arguments that name where things go</legend>
            {boxes("destination", of.arguments ?? [])}
          </fieldset>
          <fieldset>
            <legend>Arguments that carry text there (none: all others)</legend>
            {boxes("content", of.arguments ?? [])}
          </fieldset>
        </>
      )}
      <pre tabIndex={0} aria-label="For callgate.yaml">
        {text.split("\n").map((line) => (
          <>
            <Text of={line} code />
            {"\n"}
          </>
        ))}
      </pre>
      <div class="buttons">
        <button type="button" onClick={() => navigator.clipboard.writeText(text).then(() => setCopied(true), () => setCopied(false))}>
          {copied ? "Copied" : "Copy"}
        </button>
      </div>
    </form>
  );
}
