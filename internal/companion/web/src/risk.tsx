import { visible } from "./visible";

const meanings: { [risk: string]: { label: string; words: string } } = {
  READ_ONLY: { label: "low", words: "only reads" },
  BUILD_TEST: { label: "low", words: "runs the project's build or tests" },
  WRITE: { label: "medium", words: "changes files or state" },
  NETWORK: { label: "medium", words: "talks to other machines" },
  UNKNOWN: { label: "high", words: "effect unknown" },
  DESTRUCTIVE: { label: "high", words: "may lose data or history" },
  ESCALATION: { label: "critical", words: "gains privileges" },
};

// meaning describes a risk class in words.
export function meaning(risk: string): string {
  return meanings[risk]?.words ?? visible(risk);
}

// label returns low, medium, high or critical. An unknown class counts as high.
export function label(risk: string): string {
  return meanings[risk]?.label ?? "high";
}

// Badge shows a risk class in colour and words.
export function Badge({ risk, short = false, plain = false }: { risk: string; short?: boolean; plain?: boolean }) {
  const level = label(risk);
  return (
    <span class={`badge ${level} ${plain ? "plain" : ""}`}>
      <strong>{level}</strong>
      {!short && <span> {meaning(risk)}</span>}
    </span>
  );
}

// warning returns what a person should consider before they approve a high risk, or "".
export function warning(risk: string): string {
  switch (risk) {
    case "DESTRUCTIVE":
      return "What this deletes or overwrites may be gone for good. Read the exact arguments before you approve it.";
    case "ESCALATION":
      return "This runs with more rights than you have given the agent. Approve it only if you asked for it.";
    case "UNKNOWN":
      return "Callgate cannot tell what this does. Approve it only if you know this tool and these arguments.";
  }
  return "";
}
