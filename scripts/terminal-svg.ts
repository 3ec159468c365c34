/** What a terminal printed, and when. */
export interface Output {
  readonly seconds: number;
  readonly pane: "agent" | "operator" | "caller";
  readonly text: string;
}

/** How many characters fit on a line. */
export const columns = 84;

const panes = [
  { pane: "agent", title: "agent" },
  { pane: "operator", title: "another terminal" },
  { pane: "caller", title: "caller" },
] as const;

const size = { column: 8, line: 20, padding: 14, gutter: 54, bar: 26, gap: 12, font: 13 } as const;
/** How long the last moment stays, in seconds. */
const restSeconds = 4;

/** A piece of one line, as it was printed. */
interface Piece {
  readonly seconds: number;
  readonly line: number;
  readonly column: number;
  readonly text: string;
  /** Whether it is the first one of its line, or the first key behind a prompt. */
  readonly startsLine: boolean;
}

const prompt = "$ ";

/** Draws the terminals below each other. Each piece appears at the moment at which it was printed; then all begins again. */
export function picture(outputs: readonly Output[]): string {
  const restartSeconds =
    outputs.findLast(({ pane, text }) => pane === "agent" && text.includes("serves"))?.seconds ?? 0;
  const total = (outputs.at(-1)?.seconds ?? 0) + restSeconds;
  const width = size.gutter + columns * size.column + 2 * size.padding;
  const moments = new Map<number, string>();
  const momentOf = (seconds: number): string => {
    const name = moments.get(seconds) ?? `t${moments.size}`;
    moments.set(seconds, name);
    return name;
  };
  let top = 0;
  const elements: string[] = [];
  for (const { pane, title } of panes) {
    const pieces = piecesOf(outputs.filter((each) => each.pane === pane));
    const lines = (pieces.at(-1)?.line ?? 0) + 1;
    const height = size.bar + lines * size.line + size.padding;
    elements.push(
      `<rect class="window" x=".5" y="${top + 0.5}" width="${width - 1}" height="${height - 1}" rx="8"/>`,
      `<text class="title" x="${size.padding}" y="${top + 19}">${title}</text>`,
      ...pieces.flatMap((piece) => {
        const y = top + size.bar + piece.line * size.line + 16;
        const time = piece.startsLine ? [timeAt(piece, y, momentOf)] : [];
        return [
          ...time,
          drawPiece(piece, { y, moment: momentOf(piece.seconds), kind: kindOf(pane, piece, restartSeconds) }),
        ];
      }),
    );
    top += height + size.gap;
  }
  const height = top - size.gap;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    "<title>An agent is killed with kill -9 while it streams. It is started again, and its caller reads the rest.</title>",
    `<style>${styleOf(moments, total)}</style>`,
    ...elements,
    "</svg>",
  ].join("\n")}\n`;
}

function kindOf(pane: Output["pane"], { text, seconds }: Piece, restartSeconds: number): string {
  if (text.includes("Killed") || pane === "operator") return "kill";
  return pane === "caller" && seconds > restartSeconds && text !== prompt ? "resumed" : "plain";
}

function timeAt({ seconds }: Piece, y: number, momentOf: (seconds: number) => string): string {
  const x = size.padding + size.gutter - 12;
  return `<text class="time ${momentOf(seconds)}" x="${x}" y="${y}">${seconds.toFixed(1)} s</text>`;
}

interface Look {
  readonly y: number;
  readonly moment: string;
  readonly kind: string;
}

// The length of each piece is given, so that it fits whatever monospaced font the reader has.
function drawPiece({ column, text }: Piece, { y, moment, kind }: Look): string {
  const x = size.padding + size.gutter + column * size.column;
  const length = text.length * size.column;
  const xml = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text class="${kind} ${moment}" x="${x}" y="${y}" textLength="${length}" xml:space="preserve">${xml}</text>`;
}

/** Breaks what a terminal printed into lines, at its width and at line feeds. Leaves out the prompt at the end. */
function piecesOf(outputs: readonly Output[]): readonly Piece[] {
  const pieces: Piece[] = [];
  let line = 0;
  let column = 0;
  let startsLine = true;
  const nextLine = (): void => {
    line++;
    column = 0;
    startsLine = true;
  };
  for (const { seconds, text } of outputs) {
    for (const part of text.split(/(\r\n)/)) {
      if (part === "\r\n") nextLine();
      for (let textLeft = part.replace("\r\n", ""); textLeft !== ""; ) {
        if (column === columns) nextLine();
        const piece = textLeft.slice(0, columns - column);
        const isPrompt = piece === prompt && column === 0;
        pieces.push({ seconds, line, column, text: piece, startsLine: startsLine && !isPrompt });
        startsLine &&= isPrompt;
        column += piece.length;
        textLeft = textLeft.slice(piece.length);
      }
    }
  }
  return pieces.at(-1)?.text === prompt ? pieces.slice(0, -1) : pieces;
}

/** One animation for each moment. Without animations, or for readers who want none, the last moment is shown. */
function styleOf(moments: ReadonlyMap<number, string>, total: number): string {
  const frames = [...moments].map(([seconds, name]) => {
    const percent = ((seconds / total) * 100).toFixed(2);
    return `@keyframes ${name}{0%{opacity:0}${percent}%,100%{opacity:1}}.${name}{animation:${name} ${total.toFixed(1)}s step-end infinite}`;
  });
  const family = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace';
  return [
    "svg{--page:#f6f8fa;--edge:#d1d9e0;--ink:#1f2328;--faint:#59636e;--kill:#cf222e;--resumed:#1a7f37}",
    "@media (prefers-color-scheme:dark){svg{--page:#151b23;--edge:#3d444d;--ink:#f0f6fc;--faint:#9198a1;--kill:#ff7b72;--resumed:#3fb950}}",
    `text{font:${size.font}px ${family};fill:var(--ink);white-space:pre}`,
    ".window{fill:var(--page);stroke:var(--edge)}",
    ".title{font:12px system-ui,sans-serif;fill:var(--faint)}",
    ".time{fill:var(--faint);font-size:11px;text-anchor:end}",
    ".kill{fill:var(--kill)}.resumed{fill:var(--resumed)}",
    ...frames,
    "@media (prefers-reduced-motion:reduce){text{animation:none!important}}",
  ].join("\n");
}
