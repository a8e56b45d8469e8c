import { useState } from "preact/hooks";
import { useLoaded } from "./load";
import { Mono, Trouble } from "./parts";
import { Badge } from "./risk";
import { message, type Store } from "./store";
import { Text } from "./text";
import type { Suggestions as Found } from "./wire";

// Suggestions is a card with grants that would have answered past questions, if they save enough or always is set.
export function Suggestions({ store, worker, always, added }: { store: Store; worker: string; always?: boolean; added?(): void }) {
  const at = `/api/rules/suggestions${worker && `?worker=${encodeURIComponent(worker)}`}`;
  const { data, again } = useLoaded<Found>(store, at);
  const [off, setOff] = useState<Set<string>>(new Set());
  const [trouble, setTrouble] = useState("");
  if (!data || data.proposals.length === 0 || !(data.worth || always)) return null;
  const chosen = data.proposals.filter((p) => !off.has(p.id));
  const add = () =>
    store
      .ask("POST", at, { ids: chosen.map((p) => p.id) })
      .then(added, (error: unknown) => setTrouble(message(error)))
      .finally(again); // a late answer may have been a yes
  return (
    <section class="sheet suggestions" aria-labelledby="suggestions">
      <header>
        <h3 id="suggestions">Suggestions</h3>
        <span class="label">
          would have answered {data.saved} of {data.questions} questions in {data.days} {data.days === 1 ? "day" : "days"}, and nothing that you rejected
        </span>
      </header>
      <ul class="lines">
        {data.proposals.map((p) => (
          <li key={p.id}>
            <label class="step">
              <input
                type="checkbox"
                checked={!off.has(p.id)}
                onChange={(event) => {
                  const next = new Set(off);
                  if (event.currentTarget.checked) next.delete(p.id);
                  else next.add(p.id);
                  setOff(next);
                }}
              />
              <span>
                <Mono of={p.tool} /> <strong><Mono of={p.pattern} /></strong> <span class="label">up to</span> <Badge risk={p.ceiling} short plain />
                <span class="allows">
                  saves {p.saves}, such as <Mono of={p.examples[0] ?? ""} />
                  {p.workspace && <> in <Text of={p.workspace} code /></>}; opens {p.opens.everyday} everyday commands, {p.opens.operands} kinds of operands, {p.opens.hosts} hosts
                </span>
              </span>
            </label>
          </li>
        ))}
      </ul>
      <Trouble of={trouble} />
      {store.mayAnswer && (
        <div class="buttons">
          <button type="button" class="always" aria-disabled={chosen.length === 0} onClick={() => chosen.length > 0 && void add()}>
            Allow {chosen.length === 1 ? "this one" : `these ${chosen.length}`} from now on
          </button>
        </div>
      )}
    </section>
  );
}
