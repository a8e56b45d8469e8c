import { fileURLToPath } from "node:url";
import { build } from "esbuild";

// load returns a module of the page's sources.
export async function load(name) {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const { outputFiles } = await build({ absWorkingDir: root, entryPoints: [`src/${name}`], bundle: true, write: false, format: "esm" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
