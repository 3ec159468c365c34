/**
 * What the agents of all sides understand, as the text of a message:
 * `message` (a reply), `task` (three events), `fail` (the same, FAILED), `stream N` (N chunks, giving way after each), `paced N` (N chunks
 * over a second or more), `rush N` (N chunks without ever waiting, the first one the time it was made), `hold` (working
 * until cancelled).
 */
export const verbs = ["message", "task", "fail", "stream", "paced", "rush", "hold"] as const;
export type Verb = (typeof verbs)[number];

export interface Script {
  readonly verb: Verb;
  readonly count: number;
}

/** What every reply and every artifact of a task says. */
export const answerText = "pong";

/** The artifact that chunks are appended to. */
export const artifactId = "report";

const chunkBytes = 200;
const filler = "abcdefghijklmnopqrstuvwxyz ".repeat(8);

export function parseScript(text: string): Script {
  const [word, count] = text.split(" ");
  const verb = verbs.find((candidate) => candidate === word);
  if (!verb) throw new Error(`no such script: ${text}`);
  return { verb, count: Number(count ?? 0) };
}

/** Whether an agent that paces its chunks waits a millisecond after this one: a thousand times in all. */
export function pausesAfter(index: number, count: number): boolean {
  return index % Math.ceil(count / 1000) === 0;
}

/** Chunk `index` of a stream: 200 bytes that begin with their number. */
export function chunkText(index: number): string {
  return `${String(index).padStart(8, "0")} ${filler}`.slice(0, chunkBytes);
}

/** The numbers of the chunks in a text, which may hold several in a row. */
export function chunkNumbers(text: string): readonly number[] {
  if (text.length % chunkBytes !== 0) throw new Error(`${text.length} characters are no whole chunks`);
  const numbers = Array.from({ length: text.length / chunkBytes }, (_, at) => Number(text.substr(at * chunkBytes, 8)));
  for (const [at, number] of numbers.entries()) {
    if (chunkText(number) !== text.slice(at * chunkBytes, (at + 1) * chunkBytes))
      throw new Error("a chunk was damaged");
  }
  return numbers;
}

/** Throws unless the texts are the chunks 0 to `count - 1`, each once and in order. */
export function assertChunks(texts: readonly string[], count: number): void {
  if (texts.length !== count) throw new Error(`${texts.length} chunks instead of ${count}`);
  for (const [index, text] of texts.entries()) {
    if (text !== chunkText(index)) throw new Error(`chunk ${index} was "${text.slice(0, 20)}…"`);
  }
}

/** The time now by the clock that all processes of a machine share, in milliseconds, as text. */
export function stamp(): string {
  return (Number(process.hrtime.bigint()) / 1e6).toFixed(4);
}
