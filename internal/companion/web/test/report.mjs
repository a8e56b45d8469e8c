// Reports tests as lines of JSON, for the Go test that started them.
export default async function* report(source) {
  for await (const { type, data } of source) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    if (data.details.type === "suite" || data.nesting > 0) continue;
    const cause = data.details.error?.cause ?? data.details.error;
    yield JSON.stringify({ name: data.name, ok: type === "test:pass", skipped: data.skip !== undefined, error: cause?.stack ?? String(cause ?? "") }) + "\n";
  }
}
