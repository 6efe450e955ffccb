// Builds the script of the page into the package, so that whoever installs kvproto needs no Node.
// `node build.mjs --check` writes nothing and fails if the built file is not that of these sources.
import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const OUT = new URL("../kvproto/page/viewer.js", import.meta.url);

const BANNER = "/* The script of kvproto's page, built from viewer/src (Apache-2.0). */";

const result = await build({
  entryPoints: [new URL("src/main.js", import.meta.url).pathname],
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  target: ["es2022"],
  charset: "ascii",
  legalComments: "none",
  jsx: "transform",
  jsxFactory: "h",
  jsxFragment: "Fragment",
  banner: { js: BANNER },
});
const text = result.outputFiles[0].text;
if (/<\/script|<!--/i.test(text)) {
  throw new Error("the script could end its own element");
}
if (process.argv.includes("--check")) {
  const built = await readFile(OUT, "utf8").catch(() => "");
  if (built !== text) {
    console.error("kvproto/page/viewer.js is not built from viewer/src: run `npm run build` in viewer/");
    process.exit(1);
  }
} else {
  await writeFile(OUT, text);
  console.log(`kvproto/page/viewer.js: ${text.length} bytes`);
}
