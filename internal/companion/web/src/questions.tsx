import { useMemo, useState } from "preact/hooks";
import { useLoaded } from "./load";
import { Mono, Page, Trouble } from "./parts";
import type { Store } from "./store";
import { Suggestions } from "./suggestions";
import { Text } from "./text";
import type { Report, Share } from "./wire";

const periods: [days: number, label: string][] = [
  [1, "One day"],
  [7, "A week"],
  [30, "A month"],
];

// Questions shows why people were asked, like "callgate report", and what would reduce the questions.
export function Questions({ store, worker }: { store: Store; worker: string }) {
  const [days, setDays] = useState(7);
  const since = useMemo(() => new Date(Date.now() - days * 86_400_000).toISOString(), [days]);
  const { data, trouble } = useLoaded<Report>(store, `/api/report?since=${encodeURIComponent(since)}`);
  return (
    <Page
      name="Why so many questions?"
      beside={
        <label class="field">
          Period
          <select value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
            {periods.map(([n, label]) => (
              <option value={n}>{label}</option>
            ))}
          </select>
        </label>
      }
    >
      <Trouble of={trouble} />
      {data && (
        <>
          <ul class="figures">
            <Figure of={data.calls} what="calls" />
            <Figure of={data.unasked} what="ran without a question" />
            <Figure of={data.questions} what={`questions, ${data.marked} only for a person`} />
            <Figure of={percent(data.approved, data.questions)} what="of them approved" />
            <Figure of={data.denied} what="denied" />
            <Figure of={seconds(data.answer)} what={`median answer, nine of ten within ${seconds(data.slowest)}`} />
          </ul>
          {data.days.length > 0 && <Chart of={data} />}
          <Suggestions store={store} worker={worker} always />
          <Shares id="family" name="By command or tool" of={data.byFamily} />
          <Shares id="constant" name="Always the same answer" of={data.constant} />
          <Shares id="rule" name="By rule" of={data.byRule} />
          <Shares id="project" name="By project" of={data.byProject} />
          <Shares id="host" name="By host" of={data.byHost} />
          {data.denials.length > 0 && (
            <section class="sheet" aria-labelledby="by-denial">
              <header>
                <h3 id="by-denial">Denied by</h3>
              </header>
              <ul class="lines">
                {data.denials.map((d) => (
                  <li>
                    <strong>{d.asked}</strong> <Mono of={d.name} />
                  </li>
                ))}
              </ul>
            </section>
          )}
        </>
      )}
    </Page>
  );
}

function Figure({ of, what }: { of: number | string; what: string }) {
  return (
    <li>
      <strong>{of}</strong> <span class="label">{what}</span>
    </li>
  );
}

function Chart({ of }: { of: Report }) {
  return (
    <figure class="chart">
      <svg viewBox="0 0 1000 120" preserveAspectRatio="none" role="img" aria-label={`Calls by day: ${of.days.map((d) => `${d.day} ${d.calls}, ${d.questions} asked, ${d.denied} denied`).join("; ")}`}>
        {of.chart.map((b) => (
          <rect class={b.class} x={b.x} y={b.y} width={b.width} height={b.height}>
            <title>{b.title}</title>
          </rect>
        ))}
      </svg>
      <figcaption class="label">
        Calls by day since {of.days[0]?.day}: <b class="ran">ran without a question</b>, <b class="asked">questions</b>, <b class="marked">only for a person</b>, <b class="denied">denied</b>
      </figcaption>
    </figure>
  );
}

function Shares({ id, name, of }: { id: string; name: string; of: Share[] }) {
  if (of.length === 0) return null;
  return (
    <section class="sheet shares" aria-labelledby={`by-${id}`}>
      <header>
        <h3 id={`by-${id}`}>{name}</h3>
      </header>
      <div class="scroll" role="group" aria-labelledby={`by-${id}`} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th class="right">Questions</th>
              <th class="right">Approved</th>
              <th class="right">Answered in</th>
              <th>Of</th>
            </tr>
          </thead>
          <tbody>
            {of.map((s) => (
              <tr>
                <td class="right">{s.asked}</td>
                <td class="right">{percent(s.approved, s.asked)}</td>
                <td class="right">{seconds(s.answer)}</td>
                <td>
                  <Text of={s.name} code />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function percent(part: number, of: number): string {
  return of === 0 ? "–" : `${Math.floor((100 * part) / of)}%`;
}

function seconds(s: number): string {
  if (s <= 0) return "–";
  if (s < 10) return `${s.toFixed(1)} s`;
  return s < 120 ? `${Math.round(s)} s` : `${Math.round(s / 60)} min`;
}
