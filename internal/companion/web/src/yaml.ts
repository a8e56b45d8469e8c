import type { Labels } from "./wire";

// yaml returns the entry of callgate.yaml that labels a tool. Names come from outside, so they are quoted: JSON strings
// are also valid YAML.
export function yaml(server: string, tool: string, of: Labels): string {
  const lines = ["servers:", `  - name: ${JSON.stringify(server)}`, "    tools:", `      - name: ${JSON.stringify(tool)}`, `        effect: ${of.effect}`];
  for (const key of ["returns", "destination", "content"] as const) {
    const values = of[key] ?? [];
    if (values.length > 0) lines.push(`        ${key}: [${values.map((v) => JSON.stringify(v)).join(", ")}]`);
  }
  return `${lines.join("\n")}\n`;
}
