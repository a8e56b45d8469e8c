// Builds the page into ../page, which is committed and embedded into callgate.
//
//   node build.mjs           writes
//   node build.mjs --check   fails when what is committed is not what the sources make
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = join(here, "..", "page");
const maxGzipped = 60 << 10; // bytes, of all files together

// stamp is the hash of everything that the page is made of. A Go test computes the same one, so that a machine
// without Node notices sources that were changed and not built.
function stamp() {
  const names = readdirSync(join(here, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(here, join(entry.parentPath, entry.name)).split(sep).join("/"));
  const hash = createHash("sha256");
  for (const name of [...names, "build.mjs", "package-lock.json"].sort()) {
    const data = readFileSync(join(here, name));
    hash.update(`${name}\0${data.length}\0`).update(data);
  }
  return hash.digest("hex");
}

const result = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx", style: "src/style/style.css" },
  bundle: true,
  minify: true,
  write: false,
  outdir: out,
  format: "iife",
  target: ["chrome117", "firefox119", "safari17.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  banner: { js: `/* sources sha256 ${stamp()} */` },
});

const files = new Map(result.outputFiles.map((file) => [relative(out, file.path), Buffer.from(file.contents)]));
for (const name of readdirSync(join(here, "src", "static"))) files.set(name, readFileSync(join(here, "src", "static", name)));

const gzipped = [...files.values()].reduce((sum, data) => sum + gzipSync(data, { level: 9 }).length, 0);
if (gzipped > maxGzipped) {
  console.error(`the page has ${gzipped} bytes gzipped, ${maxGzipped} are allowed`);
  process.exit(1);
}

if (process.argv.includes("--check")) {
  const committed = readdirSync(out).sort();
  const stale = [...files].filter(([name, data]) => !committed.includes(name) || !readFileSync(join(out, name)).equals(data)).map(([name]) => name);
  const extra = committed.filter((name) => !files.has(name));
  if (stale.length + extra.length > 0) {
    console.error(`../page is not what the sources make: ${[...stale, ...extra].join(", ")}. Run: npm run build`);
    process.exit(1);
  }
} else {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out);
  for (const [name, data] of files) writeFileSync(join(out, name), data);
}
console.log(`page: ${files.size} files, ${gzipped} bytes gzipped`);
