/**
 * Makes the pictures of the documents: every `docs/pictures/*.mmd`, a Mermaid diagram, becomes an SVG beside it.
 *
 *     node scripts/pictures.ts [--check]
 *
 * With `--check` nothing is written, and it leaves with 1 when a picture is not what its text says.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { renderMermaidSVG } from "beautiful-mermaid";

const light = { bg: "#ffffff", fg: "#1f2328", muted: "#59636e" };
const dark = { bg: "#0d1117", fg: "#f0f6fc", muted: "#9198a1" };
const folder = new URL("../docs/pictures/", import.meta.url);
const isCheck = process.argv.includes("--check");

for (const name of globSync("*.mmd", { cwd: folder }).toSorted()) {
  const svg = picture(readFileSync(new URL(name, folder), "utf8"));
  const file = new URL(name.replace(/\.mmd$/, ".svg"), folder);
  if (!isCheck) writeFileSync(file, svg);
  else if (readFileSync(file, "utf8") !== svg) {
    process.stderr.write(`docs/pictures/${name} has changed: run npm run pictures\n`);
    process.exitCode = 1;
  }
}

/** One file for light and dark pages. A picture in a document may load nothing, so the fonts are the reader's own. */
function picture(text: string): string {
  const svg = renderMermaidSVG(text, { ...light, font: "system-ui" }).replace(/^\s*@import .*\n/m, "");
  const colors = Object.entries(dark).map(([name, color]) => `--${name}:${color} !important;`);
  // Labels of arrows cross lines: an edge in the color of the page keeps them readable.
  const label =
    'text[font-size="11"] { paint-order: stroke; stroke: var(--bg); stroke-width: 4px; stroke-linejoin: round; }';
  const style = `<style>${label} @media (prefers-color-scheme: dark) { svg { ${colors.join(" ")} } }</style>`;
  return `${svg.replace("</style>", `</style>\n${style}`).trimEnd()}\n`;
}
