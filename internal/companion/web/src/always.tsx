import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Badge, label } from "./risk";
import type { Approval } from "./state";
import { Text } from "./text";
import { exactText } from "./visible";
import type { Answer, Offer } from "./wire";

const expiries: [label: string, seconds: number][] = [
  ["never", 0],
  ["after 10 minutes", 600],
  ["after an hour", 3600],
  ["after a day", 86_400],
  ["after a week", 604_800],
  ["after 30 days", 2_592_000],
];

// lasting words answers about where values come from and go to.
const lasting: { [tool: string]: string } = {
  "flow:destination": "This destination is fine:",
  "flow:result": "Trust the result of this one call:",
  "flow:source": "Trust the results of",
};

// preselected returns the preselected step; -1 for a part of high risk, which a person must choose knowingly.
function preselected(ladder: Offer[]): number {
  const at = ladder.findIndex((offer) => offer.default);
  return at >= 0 && ["high", "critical"].includes(label(ladder[at]!.risk)) ? -1 : at;
}

// worthOffering is how many earlier approvals make an offer worth a remark.
const worthOffering = 3;

// suggested returns the offer that covers most of what people approved in the project, or undefined.
export function suggested(of: Approval): Offer | undefined {
  return of.request.always
    .filter((offer) => (offer.approved ?? 0) >= worthOffering && !["high", "critical"].includes(label(offer.risk)))
    .reduce<Offer | undefined>((best, offer) => ((offer.approved ?? 0) > (best?.approved ?? 0) ? offer : best), undefined);
}

// briefly returns the answer that allows the same for ten minutes in this session, or null if a part has no offer.
export function briefly(of: Approval): Answer | null {
  const ladders = [...Map.groupBy(of.request.always, (offer) => offer.subject).values()];
  const grants = ladders.flatMap((ladder) => {
    const at = preselected(ladder);
    return at < 0 ? [] : [ladder[at]!];
  });
  if (ladders.length === 0 || grants.length < ladders.length || grants.some((g) => ["high", "critical"].includes(label(g.risk)))) return null;
  return { decision: "always", scope: "session", expiresIn: 600, grants: grants.map(({ tool, pattern }) => ({ tool, pattern })).filter((g, i, all) => all.findIndex((h) => h.tool === g.tool && h.pattern === g.pattern) === i) };
}

// AlwaysPanel lets a person choose what to allow from now on: for each subject of the call, one step of its ladder or
// none.
export function AlwaysPanel({ of, first, off, close, answer }: { of: Approval; first?: Offer; off: boolean; close(): void; answer(a: Answer): void }) {
  const offers = of.request.always;
  const ladders = [...Map.groupBy(offers, (offer) => offer.subject)];
  const [chosen, setChosen] = useState<{ [subject: number]: number }>(() =>
    Object.fromEntries(ladders.map(([subject, ladder]) => [subject, first && ladder.includes(first) ? ladder.indexOf(first) : preselected(ladder)])),
  );
  const [scope, setScope] = useState<"session" | "worker">("worker");
  const [expiresIn, setExpiresIn] = useState(0);
  const panel = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => panel.current?.querySelector<HTMLElement>("input:checked")?.focus(), []);
  const picked = ladders.flatMap(([subject, ladder]) => ladder[chosen[subject] ?? -1] ?? []);
  const grants = picked.map(({ tool, pattern }) => ({ tool, pattern })).filter((g, i, all) => all.findIndex((h) => h.tool === g.tool && h.pattern === g.pattern) === i);
  const disabled = off || grants.length === 0;
  return (
    <form
      class="panel"
      ref={panel}
      aria-label="Always allow"
      onSubmit={(event) => {
        event.preventDefault();
        if (!disabled) answer({ decision: "always", grants, scope, ...(expiresIn > 0 && { expiresIn }) });
      }}
    >
      <p>Approve this call, and from now on allow without asking:</p>
      {ladders.map(([subject, ladder], part) => (
        <fieldset>
          <legend>
            {lasting[ladder[0]?.tool ?? ""] ? "Where the text comes from" : <Text of={ladder[0]?.tool ?? ""} code />}
            {ladders.length > 1 && <span class="label"> part {part + 1} of {ladders.length}</span>}
          </legend>
          {ladder.map((offer, i) => (
            <Step offer={offer} name={`ladder-${subject}`} checked={chosen[subject] === i} choose={() => setChosen((was) => ({ ...was, [subject]: i }))} />
          ))}
          {ladders.length > 1 && (
            <label class="step">
              <input type="radio" name={`ladder-${subject}`} checked={chosen[subject] === -1} onChange={() => setChosen((was) => ({ ...was, [subject]: -1 }))} />
              <span class="label">don't allow this part</span>
            </label>
          )}
        </fieldset>
      ))}
      <div class="row">
        <label for="scope">For</label>
        <select id="scope" value={scope} onChange={(event) => setScope(event.currentTarget.value === "worker" ? "worker" : "session")}>
          <option value="session">this session</option>
          <option value="worker">every session of this worker</option>
        </select>
        <label for="expiry">Ends</label>
        <select id="expiry" value={expiresIn} onChange={(event) => setExpiresIn(Number(event.currentTarget.value))}>
          {expiries.map(([label, seconds]) => (
            <option value={seconds}>{label}</option>
          ))}
        </select>
      </div>
      <div class="buttons">
        <button type="button" onClick={close}>
          Back <kbd>Esc</kbd>
        </button>
        <button type="submit" class="always" aria-disabled={disabled}>
          Approve and always allow
        </button>
      </div>
    </form>
  );
}

function Step({ offer, name, checked, choose }: { offer: Offer; name: string; checked: boolean; choose(): void }) {
  const allows = offer.newlyAllows;
  const exact = lasting[offer.tool] ? undefined : exactText(offer.pattern);
  return (
    <label class="step">
      <input type="radio" name={name} checked={checked} onChange={choose} />
      <span>
        {lasting[offer.tool] ?? (exact !== undefined && <span class="label">exactly</span>)}{" "}
        {offer.pattern === "*" ? (
          "any arguments"
        ) : (
          <code>
            <Text of={exact ?? offer.pattern} code />
          </code>
        )}{" "}
        <span class="label">up to</span> <Badge risk={offer.risk} short />
        {offer.default && <span class="label"> suggested</span>}
        {(offer.approved ?? 0) > 0 && (
          <span class="allows">
            would have answered {offer.approved} {offer.approved === 1 ? "call" : "calls"} that you approved in this project
          </span>
        )}
        {allows && allows.count > 0 && (
          <span class="allows">
            would newly allow {allows.count} known {allows.count === 1 ? "command" : "commands"}
            {(allows.examples ?? []).length > 0 && ": "}
            {(allows.examples ?? []).map((example, i) => (
              <>
                {i > 0 && ", "}
                <code>
                  <Text of={example} code />
                </code>
              </>
            ))}
          </span>
        )}
      </span>
    </label>
  );
}
