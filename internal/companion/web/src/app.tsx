import { useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { briefly } from "./always";
import { Detail, type Panel } from "./approval";
import { Audit } from "./audit";
import { Chat } from "./chat";
import { Checkpoints } from "./checkpoints";
import { Help } from "./help";
import { answeredBefore, First, Next, rememberAnswer } from "./hosts";
import { Hooks } from "./hooks";
import { useLoaded } from "./load";
import { mayNotify, showCount } from "./notify";
import { Trouble } from "./parts";
import { maxSelected, Queue } from "./queue";
import { canPush, followPushes, pushes, startPush, stopPush } from "./push";
import { Questions } from "./questions";
import { Quiet } from "./quiet";
import { go, href, routeOf } from "./route";
import { Rules } from "./rules";
import { Running, useRunning } from "./running";
import { Suggestions } from "./suggestions";
import { Servers } from "./servers";
import { Sessions } from "./sessions";
import { Passkeys } from "./passkeys";
import { find, needsPerson, pending, powers, unseen, type Power } from "./state";
import { message, type Store } from "./store";
import { Text } from "./text";
import { Unpaired } from "./unpaired";
import type { Answer, FileChange, Info } from "./wire";

type View = "approvals" | "sessions" | "audit" | "questions" | "chat" | Power;

// Views in their order. A view that this callgate does not have is left out.
const views: [view: View, label: string][] = [
  ["approvals", "Approvals"],
  ["sessions", "Sessions"],
  ["audit", "Audit"],
  ["rules", "Rules"],
  ["tools", "Tools"],
  ["checkpoints", "Checkpoints"],
  ["hooks", "Hooks"],
  ["chat", "Chat"],
  ["questions", "Questions"],
  ["passkeys", "Passkeys"],
];

// App follows the store and holds the state of this screen.
export function App({ store }: { store: Store }) {
  const [, render] = useReducer((n: number) => n + 1, 0);
  const quiet = useMemo(() => new Quiet(), []);
  const [route, setRoute] = useState(() => routeOf(location.hash));
  const [panel, setPanel] = useState<Panel>("");
  const [browsing, setBrowsing] = useState(false); // on a phone: the list is shown, not the approval
  const [help, setHelp] = useState(false);
  const [selected, setSelected] = useState<Set<string>>(new Set());
  const early = useRef(false); // the last press began before the prompt had rested
  store.changed = () => render(0);
  quiet.changed = () => render(0);

  const { state } = store;
  const waiting = pending(state);
  const current = find(state, state.current);
  const view = views.find(([name]) => name === route.view)?.[0] ?? "approvals";
  const setView = (name: View) => go(href(name));
  const there = views.filter(([name]) => state.powers[name as Power] ?? !powers.includes(name as Power));
  const viewOnly = store.pairing?.credential === "view";

  const running = useRunning(store);
  const like = current === undefined || needsPerson(current) !== "" ? [] : waiting.filter((a) => a.request.tool === current.request.tool && a.request.sessionId === current.request.sessionId && needsPerson(a) === "").slice(0, maxSelected);
  const selectLike = () => setSelected(new Set(like.map((a) => a.request.toolCallId)));

  useEffect(() => store.start(), [store]);
  useEffect(followPushes, []);
  useEffect(() => {
    const moved = () => setRoute(routeOf(location.hash));
    window.addEventListener("hashchange", moved);
    window.addEventListener("popstate", moved);
    return () => {
      window.removeEventListener("hashchange", moved);
      window.removeEventListener("popstate", moved);
    };
  }, []);
  // An address that names an approval leads there. An approval that comes up by itself replaces the address.
  const named = view === "approvals" ? route.id : "";
  const missing = named !== "" && find(state, named) === undefined && state.connection === "open" && state.approvals.every((a) => !a.stale);
  useEffect(() => {
    if (named !== "" && named !== state.current && find(state, named)) look(named);
  }, [named, state.approvals.length]);
  useEffect(() => {
    if (store.pairing !== null && view === "approvals" && !missing && state.current !== "" && (named === "" || find(state, named)?.over)) go(href("approvals", state.current), true);
  }, [state.current, view, missing]);
  useEffect(() => showCount(waiting.length), [waiting.length]);
  // The tabs of a narrow window scroll. Keep the current tab visible.
  useEffect(() => document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [view, there.length]);
  // Another prompt came up by itself, the current one is over, or it is visible again.
  useLayoutEffect(() => {
    setPanel("");
    setBrowsing(false);
    quiet.begin(true);
  }, [state.shown, current?.over !== null, view]);
  useEffect(() => {
    const back = () => {
      if (!document.hidden) store.hurry();
    };
    document.addEventListener("visibilitychange", back);
    window.addEventListener("online", back);
    return () => {
      document.removeEventListener("visibilitychange", back);
      window.removeEventListener("online", back);
    };
  }, [store]);

  const look = useCallback(
    (id: string) => {
      setPanel("");
      setBrowsing(false);
      if (id !== store.state.current) quiet.begin(false);
      store.dispatch({ type: "look", id });
      if (routeOf(location.hash).view in { "": 1, approvals: 1 }) go(href("approvals", id));
    },
    [store, quiet],
  );
  // The display may lag behind the store, but two quick keys or clicks both count.
  const walk = (step: number) => {
    const now = store.state;
    const there = pending(now);
    const at = there.findIndex((a) => a.request.toolCallId === now.current);
    const next = at < 0 ? there[step > 0 ? 0 : there.length - 1] : there[at + step];
    if (next) look(next.request.toolCallId);
    else if (find(now, now.current)?.over) look("");
  };
  const select = (id: string, on: boolean) =>
    setSelected((was) => {
      const next = new Set([...was].filter((other) => find(store.state, other)?.over === null));
      if (on && next.size < maxSelected) next.add(id);
      else next.delete(id);
      return next;
    });
  const answer = (a: Answer) => {
    if (!current || quiet.resting) return;
    store.answer(current, a);
    rememberAnswer();
  };
  const approveSelected = () => {
    for (const a of waiting) {
      if (selected.has(a.request.toolCallId) && needsPerson(a) === "") store.answer(a, { decision: "approve", together: true });
    }
    setSelected(new Set());
  };
  const compare = useCallback(
    (id: string) => store.get<{ changes: FileChange[] }>(`/api/approvals/${encodeURIComponent(id)}/changes`).then(({ changes }) => changes),
    [store],
  );
  const canAnswer = store.mayAnswer && current !== undefined && !current.over && !current.stale && current.sent === "";
  const canApprove = canAnswer && unseen(current) === "";
  // The pause keeps the second click of a double click from approving.
  const toEnd = () => {
    document.querySelector(".end-mark")?.scrollIntoView({ block: "center" });
    quiet.begin(false);
  };
  const approve = () => {
    if (canApprove) return answer({ decision: "approve" });
    return canAnswer && unseen(current) === "end" && toEnd();
  };

  // Before the next key, which an older listener would apply to the previous approval.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      const asking = view === "approvals" && current !== undefined && store.pairing !== null;
      const typing = event.target instanceof HTMLElement && event.target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select") !== null;
      if (typing && event.key !== "Escape") return;
      if (asking && !quiet.take(answering.has(event.key))) {
        event.preventDefault();
        event.stopPropagation();
        return;
      }
      if (store.pairing === null || document.querySelector("dialog[open]")) return;
      const act = actions[event.key];
      if (!act || event.repeat) return;
      if (act() !== false) event.preventDefault();
    };
    const open = (wanted: Panel) => (canApprove ? setPanel(panel === wanted ? "" : wanted) : false);
    const actions: { [key: string]: () => unknown } = {
      j: () => view === "approvals" && walk(1),
      k: () => view === "approvals" && walk(-1),
      y: () => view === "approvals" && panel === "" && approve(),
      r: () => view === "approvals" && store.mayAnswer && current && !current.over && setPanel(panel === "reject" ? "" : "reject"),
      a: () => view === "approvals" && (current?.request.always.length ?? 0) > 0 && open("always"),
      e: () => view === "approvals" && current?.args != null && open("edit"),
      m: () => {
        const brief = current && briefly(current);
        return view === "approvals" && panel === "" && brief && canApprove && answer(brief);
      },
      u: () => store.mayAnswer && running.endNewest(),
      v: () => view === "approvals" && current && store.dispatch({ type: "viewed", id: state.current }),
      x: () => view === "approvals" && current && needsPerson(current) === "" && store.mayAnswer && select(state.current, !selected.has(state.current)),
      "?": () => setHelp(true),
      Escape: () => (panel !== "" ? setPanel("") : setBrowsing(true)),
      ...Object.fromEntries(there.map(([name], i) => [String(i + 1), () => setView(name)])),
    };
    // In the capture phase: a key that does not count must not reach the focused button.
    window.addEventListener("keydown", press, true);
    return () => window.removeEventListener("keydown", press, true);
  });

  if (store.pairing === null) return <Unpaired store={store} />;
  const off = state.sessions.some((s) => s.mode === "GATE OFF");
  const freezes = state.sessions.flatMap((s) => s.frozen ?? []);
  const frozen = state.frozen ? (freezes.find((f) => f.startsWith("all sessions")) ?? "all sessions") : freezes[0];
  return (
    <>
      <header class="top">
        <h1>
          <img src="/page/icon.svg" alt="" width="24" height="24" /> callgate
        </h1>
        <nav class="tabs" aria-label="Views">
          {there.map(([name, label]) => (
            <a key={name} href={href(name)} aria-current={view === name ? "page" : undefined}>
              {label}
              {name === "approvals" && waiting.length > 0 && <span class="count">{waiting.length}</span>}
            </a>
          ))}
        </nav>
        <div class="tools">
          <ConnectionState of={state.connection} />
          {viewOnly && <span class="pill">view only</span>}
          {state.connection === "open" && <Notifications store={store} changed={() => render(0)} />}
          <button type="button" class="quiet" aria-label="Keys" onClick={() => setHelp(true)}>
            <kbd>?</kbd>
          </button>
        </div>
      </header>
      {off && (
        <p class="banner" role="alert">
          <strong>The gate is off.</strong> Every tool call runs, whatever the rules say.
        </p>
      )}
      {frozen && (
        <p class="banner" role="alert">
          <strong>Frozen.</strong> Calls that write, send or run are refused: <Text of={frozen} />{" "}
          {store.mayAnswer && state.frozen && (
            <button type="button" class="quiet" onClick={() => store.freeze(false)}>
              Unfreeze
            </button>
          )}
        </p>
      )}
      {state.connection === "open" && <Wrong store={store} />}
      {state.notice && (
        <p class="banner" role="alert">
          <Text of={state.notice} />{" "}
          <button type="button" onClick={() => store.dispatch({ type: "dismiss" })}>
            Close
          </button>
        </p>
      )}
      <Running of={running} mayAnswer={store.mayAnswer} />
      <main>
        {view === "approvals" && (
          <div class={`approvals ${browsing || !current ? "browsing" : ""}`}>
            <Queue state={state} viewOnly={viewOnly} selected={selected} select={select} look={look} approveSelected={approveSelected} />
            <div
              class="stage"
              onPointerDownCapture={() => {
                early.current = !quiet.take(true);
              }}
              onClickCapture={(event) => {
                const press = event.detail > 0; // neither a key nor a screen reader
                if (!quiet.resting && !(press && early.current)) return;
                event.preventDefault();
                event.stopPropagation();
              }}
            >
              {missing && (
                <p class="note" role="status">
                  This approval is no longer pending. <a href={href("audit", named)}>Show the outcome</a>
                </p>
              )}
              {current ? (
                <>
                  <button type="button" class="back" onClick={() => setBrowsing(true)}>
                    ‹ All <span class="count">{waiting.length}</span>
                  </button>
                  {!current.over && store.mayAnswer && !answeredBefore() && <First />}
                  <Detail
                    key={`${current.request.toolCallId} ${current.request.argsDigest}`}
                    of={current}
                    mayAnswer={store.mayAnswer}
                    viewOnly={viewOnly}
                    resting={quiet.resting}
                    panel={panel}
                    open={(wanted) => setPanel(wanted === panel ? "" : wanted)}
                    view={() => store.dispatch({ type: "viewed", id: state.current })}
                    reached={() => store.dispatch({ type: "reached", id: state.current })}
                    toEnd={toEnd}
                    answer={answer}
                    next={() => walk(1)}
                    like={like}
                    selectLike={selectLike}
                    compare={store.mayAnswer ? compare : null}
                  />
                </>
              ) : (
                <div class="nothing">
                  <p class="big">No pending approvals</p>
                  <p>{state.connection === "open" ? "New approvals appear here." : "There is no connection to callgate."}</p>
                  {state.connection === "open" && <Next store={store} />}
                  <Suggestions store={store} worker={state.sessions[0]?.workerId ?? ""} />
                </div>
              )}
            </div>
          </div>
        )}
        {view === "sessions" && (
          <Sessions state={state} mayAnswer={store.mayAnswer} setAutonomy={(id, level) => store.setAutonomy(id, level)} cancel={(id) => store.cancel(id)} freeze={() => store.freeze(true)} />
        )}
        {view === "audit" && <Audit store={store} live={state.audit} waiting={pending(state).map((a) => a.request.toolCallId)} route={route} />}
        {view === "questions" && <Questions store={store} worker={state.sessions[0]?.workerId ?? ""} />}
        {view === "chat" && <Chat store={store} state={state} session={route.id} />}
        {view === "rules" && <Rules store={store} state={state} />}
        {view === "tools" && <Servers store={store} state={state} />}
        {view === "checkpoints" && <Checkpoints store={store} state={state} />}
        {view === "passkeys" && <Passkeys store={store} />}
        {view === "hooks" && <Hooks store={store} />}
      </main>
      {help && <Help close={() => setHelp(false)} />}
      <div class="sr-only" role="status" aria-live="polite">
        <Text of={state.said} />
      </div>
    </>
  );
}

// Wrong shows problems with what callgate stores, and what cannot be seen here.
function Wrong({ store }: { store: Store }) {
  const { data } = useLoaded<Info>(store, "/api/info", 10_000);
  return (
    <>
      {data?.problems?.map((problem) => (
        <p key={problem} class="banner" role="alert">
          <strong>Problem.</strong> <Text of={problem} />
        </p>
      ))}
    </>
  );
}

// answering holds the keys that answer an approval or press the focused element.
const answering = new Set(["y", "a", "r", "e", "m", "x", "Enter", " "]);

const connections = { connecting: "connecting…", open: "connected", lost: "connection lost, trying again…" };

function ConnectionState({ of }: { of: keyof typeof connections }) {
  return (
    <span class={`pill connection ${of}`} role="status">
      <span class="dot" aria-hidden="true" />
      <span class="words">{connections[of]}</span>
    </span>
  );
}

function Notifications({ store, changed }: { store: Store; changed(): void }) {
  const { data } = useLoaded<{ key: string }>(store, "/api/push");
  const [trouble, setTrouble] = useState("");
  const turn = (act: Promise<void>) =>
    void act.then(
      () => {
        setTrouble("");
        changed();
      },
      (error: unknown) => setTrouble(message(error)),
    );
  if (data?.key && canPush())
    return (
      <>
        <button type="button" class="quiet" aria-pressed={pushes()} onClick={() => turn(pushes() ? stopPush(store) : startPush(store, data.key))}>
          Push to this device{pushes() && ": on"}
        </button>
        <Trouble of={trouble} />
      </>
    );
  if (mayNotify() !== "default") return null;
  return (
    <button type="button" class="quiet" onClick={() => void Notification.requestPermission().then(changed)}>
      Notify me
    </button>
  );
}
