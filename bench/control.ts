/**
 * What the harness and its programs say to each other. With `--before` the programs may be those of an older revision
 * (`builds.ts`): add messages, but change none of these, nor the arguments that servers, clients and the seeder take.
 */

/** What a server under measure announces once it listens. */
export interface Ready {
  readonly http: number;
  readonly grpc: number;
}

/** What the harness asks of a server process, and what each question is answered with. */
export interface Answers {
  /** CPU time of the process so far, user and system, all threads, in microseconds. */
  readonly cpu: number;
  /** Resident memory after garbage collection, in bytes (the server runs with `--expose-gc`). */
  readonly rss: number;
  /** Resident memory as it is, in bytes. */
  readonly residentBytes: number;
}
export type Question = keyof Answers;

/** What the harness asks of a client process: so many calls, each checked. It answers 0 when they are done. */
export interface Work {
  readonly run: number;
}

/** The client's end: says that it is there, and does what it is asked from then on. */
export function serveWork(run: (count: number) => Promise<void>): void {
  process.on("message", async (question: Question | Work) => {
    if (typeof question !== "object") return process.send?.(answers[question]());
    await run(question.run);
    return process.send?.(0);
  });
  process.on("disconnect", () => process.exit());
  process.send?.("there");
}

const answers: Readonly<Record<Question, () => number>> = {
  cpu: cpuMicros,
  rss: settledRss,
  residentBytes: () => process.memoryUsage.rss(),
};

/** The server's end: announces the ports and answers from then on; leaves when the harness does. */
export function announce(ready: Ready): void {
  process.on("message", (question: Question) => process.send?.(answers[question]()));
  process.on("disconnect", () => process.exit());
  process.send?.(ready);
}

/** CPU time that this process has used, in microseconds. */
export function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function settledRss(): number {
  // Compacting: what counts is the memory that the streams need, not the holes that opening them left.
  for (let pass = 0; pass < 4; pass++) globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
  return process.memoryUsage.rss();
}
