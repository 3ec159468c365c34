/**
 * Draws `docs/pictures/speed.svg` from the first table of `docs/explanation/performance.md`, so that the picture shows the
 * figures of the page.
 *
 *     node scripts/speed-chart.ts [--check]
 *
 * With `--check` nothing is written, and it leaves with 1 when the picture does not show the table.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const page = new URL("../docs/explanation/performance.md", import.meta.url);
const file = new URL("../docs/pictures/speed.svg", import.meta.url);

/** The rows that are drawn, by their name in the table, and how the picture names them. */
const charts = [
  { row: "JSON-RPC message reply", title: "one message, JSON-RPC" },
  { row: "gRPC message reply", title: "one message, gRPC" },
  { row: "JSON-RPC task of 3 events", title: "one task of three events" },
  { row: "SSE chunk, stream of 1,000", title: "one chunk of a stream" },
];
const sides = [
  { column: "floor", name: "bare Node", color: "--floor" },
  { column: "Trivium", name: "Trivium", color: "--ours" },
  { column: "`@a2a-js/sdk`", name: "JavaScript SDK", color: "--peer" },
  { column: "Go SDK", name: "Go SDK", color: "--go" },
];

const width = 720;
const labelWidth = 130;
const barHeight = 16;
const barGap = 4;
const groupGap = 26;
/** A longer bar is cut, so that the short ones can be told apart. */
const longest = 3;

const svg = draw();
if (!process.argv.includes("--check")) writeFileSync(file, svg);
else if (!existsSync(file) || readFileSync(file, "utf8") !== svg) {
  process.stderr.write("docs/pictures/speed.svg does not show the table of performance.md: run npm run pictures\n");
  process.exitCode = 1;
}

function draw(): string {
  const table = readTable(readFileSync(page, "utf8"));
  const parts: string[] = [];
  let y = 44;
  for (const { row, title } of charts) {
    const figures = table.get(row);
    if (figures === undefined) throw new Error(`performance.md has no row ${JSON.stringify(row)}`);
    const bars = sides.flatMap((side) => {
      const micros = figures.get(side.column);
      return micros === undefined ? [] : [{ ...side, micros }];
    });
    const ours = figures.get("Trivium") ?? 0;
    const scale = (width - labelWidth - 90) / (ours * longest);
    parts.push(text({ x: 0, y, style: "title", content: title }));
    y += 8;
    for (const { name, color, micros } of bars) {
      const isCut = micros > ours * longest;
      const length = Math.round((isCut ? ours * longest : micros) * scale);
      const middle = y + barHeight / 2 + 4;
      parts.push(text({ x: labelWidth - 8, y: middle, style: "name", content: name }));
      parts.push(
        `<rect x="${labelWidth}" y="${y}" width="${length}" height="${barHeight}" rx="2" fill="var(${color})"/>`,
      );
      if (isCut) parts.push(`<path d="M${labelWidth + length - 14} ${y - 2}l6 ${barHeight + 4}" class="cut"/>`);
      parts.push(text({ x: labelWidth + length + 6, y: middle, style: "figure", content: `${format(micros)} µs` }));
      y += barHeight + barGap;
    }
    y += groupGap;
  }
  const height = y - groupGap + 8;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>CPU time of the server: ${listDrawn(table)}</title>`,
    `<style>${style()}</style>`,
    text({ x: 0, y: 16, style: "head", content: "CPU time of the server (shorter is better)" }),
    ...parts,
    "</svg>\n",
  ].join("\n");
}

type Table = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** The names of the sides that have a bar. */
function listDrawn(table: Table): string {
  const drawn = sides.filter(({ column }) => charts.some(({ row }) => table.get(row)?.has(column)));
  return new Intl.ListFormat("en-GB").format(drawn.map(({ name }) => name));
}

interface Text {
  readonly x: number;
  readonly y: number;
  readonly style: string;
  readonly content: string;
}

function text({ x, y, style, content }: Text): string {
  return `<text x="${x}" y="${y}" class="${style}">${content}</text>`;
}

function format(micros: number): string {
  return micros.toLocaleString("en", { maximumFractionDigits: micros < 100 ? 1 : 0 });
}

/** The figures of each row of the first table, by row and column. Cells that are no number are left out. */
function readTable(markdown: string): Table {
  const lines = markdown.split("\n");
  const start = lines.findIndex((line) => line.startsWith("| what |"));
  const columns = cells(lines[start] ?? "");
  const rows = new Map<string, ReadonlyMap<string, number>>();
  for (const line of lines.slice(start + 2)) {
    if (!line.startsWith("|")) break;
    const [name = "", ...values] = cells(line);
    const figures = values.map(
      (value, index) => [columns[index + 1] ?? "", Number(value.replaceAll(",", ""))] as const,
    );
    rows.set(name, new Map(figures.filter(([, figure]) => !Number.isNaN(figure))));
  }
  return rows;
}

function cells(line: string): readonly string[] {
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** One file for light and dark pages; the fonts are the reader's own. */
function style(): string {
  const light = "--fg:#1f2328;--muted:#59636e;--floor:#c4cad1;--ours:#1f6feb;--peer:#d29922;--go:#3fb6a8";
  const dark = "--fg:#f0f6fc;--muted:#9198a1;--floor:#4b535d;--ours:#4493f8;--peer:#d29922;--go:#3fb6a8";
  return [
    `svg{${light};font-family:system-ui,sans-serif}`,
    `@media (prefers-color-scheme:dark){svg{${dark}}}`,
    "text{fill:var(--fg);font-size:13px}",
    ".head{font-size:15px;font-weight:600}",
    ".title{font-weight:600}",
    ".name{text-anchor:end;fill:var(--muted)}",
    ".figure{fill:var(--muted)}",
    ".cut{stroke:var(--fg);stroke-width:2;fill:none}",
  ].join("");
}
