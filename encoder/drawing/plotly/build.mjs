// Bundles plotly.js with the kinds of charts that Encoderscope draws, and collects the licences of all that is in it.
// `make plotly` runs this in a folder of its own. scatter is part of plotly.js's core.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const entry = `
  const Plotly = require("plotly.js/lib/core");
  Plotly.register([require("plotly.js/lib/bar"), require("plotly.js/lib/heatmap")]);
  module.exports = Plotly;
`;

const read = (...path) => readFileSync(path.join("/"), "utf8");
const about = (folder) => JSON.parse(read(folder, "package.json"));

const PLOTLY = "node_modules/plotly.js";
const [copyright] = read(PLOTLY, "LICENSE").match(/Copyright.*/);

const { metafile, outputFiles: [script] } = await build({
  stdin: { contents: entry, resolveDir: "." },
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  format: "iife",
  globalName: "Plotly",
  target: "es2020",
  legalComments: "eof",
  banner: { js: `/*! plotly.js v${about(PLOTLY).version} with scatter, bar and heatmap. MIT licence. ${copyright} */` },
  define: { global: "window" },
  loader: { ".css": "empty" }, // of street maps, which are left out
});

const parts = Object.entries(Object.values(metafile.outputs)[0].inputs);
const used = parts.filter(([path, part]) => part.bytesInOutput && !path.endsWith(".css"));
const folders = new Set(used.map(([path]) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean));
const licences = [...folders].sort().map((folder) => {
  const { name, version, license } = about(folder);
  const file = readdirSync(folder).find((name) => /^licen[sc]e/i.test(name));
  return `${name} ${version}: ${license}\n\n${file ? read(folder, file).trim() : "(The package has no licence file.)"}\n`;
});
writeFileSync("LICENSES.txt", licences.join(`\n${"-".repeat(80)}\n\n`));
writeFileSync("plotly.min.js.gz", gzipSync(script.contents, { level: 9 }));
console.log(`${licences.length} packages, ${script.contents.length} bytes`);
