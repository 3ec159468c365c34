import { appendFile, readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { TaskState } from "../../src/protocol/model.js";
import { crashRun, type StoreUnderTest } from "./crash-run.js";
import type { KnownTask } from "./ledger.js";
import { seed } from "./options.js";
import type { Scene } from "./scene.js";
import { send } from "./sends.js";

// The suite's own checks, tried on stores and servers that break their promises.

const forgetful: StoreUnderTest = { place: () => "memory" };
const undisturbed = { store: forgetful, kills: 0, seed, restartable: false };

describe("the checks after a crash", () => {
  it("the checks after a crash accept a server that is not killed", async () => {
    const { faults, tally } = await crashRun(undisturbed);
    expect(faults, `CRASH_SEED=${seed}`).toEqual([]);
    expect(tally.tasks).toBeGreaterThan(10);
  });

  it("the checks after a crash detect a store that loses writes", async () => {
    const { faults } = await crashRun({ ...undisturbed, kills: 4, patienceMs: 2000 });
    expect(faults).toContainEqual(expect.stringMatching(/was spoken of and is not there/));
  });

  it("the checks after a crash detect each kind of false answer", async () => {
    const { faults } = await crashRun({ ...undisturbed, patienceMs: 500, meanwhile: lie });
    for (const kind of lies) expect(faults, `CRASH_SEED=${seed}`).toContainEqual(expect.stringMatching(kind));
  });
});

describe("a crash run", () => {
  it("a crash run ends when its store cannot be examined", async () => {
    const damage = () => Promise.reject(new Error("the disk is away"));
    const run = crashRun({ ...undisturbed, store: { ...forgetful, damage }, kills: 4 });
    await expect(run).rejects.toThrow("the disk is away");
  });

  it("a crash run ends with its test, while a server starts", async () => {
    const over = new AbortController();
    const damage = async () => {
      setImmediate(() => over.abort(new Error("the test is over")));
      return [];
    };
    const run = crashRun({ ...undisturbed, store: { ...forgetful, damage }, kills: 4, signal: over.signal });
    await expect(run).rejects.toThrow("the test is over");
  });
});

const lies = [
  /task never-was was spoken of and is not there/,
  /was canceled and is COMPLETED/,
  /has lost the message unheard/,
  /was answered as/,
  /has shown what is not stored/,
  /has begun anew/,
  /\/nobody was not told of/,
  /is answered differently again/,
  /has started an agent although its task was there/,
  /nobody works on \d+ tasks/,
];

async function lie(scene: Scene): Promise<void> {
  const { ledger, runs, server } = scene;
  const completed = [...ledger.tasks.values()].filter(({ last }) => last?.status?.state === TaskState.COMPLETED);
  const streamed = [...ledger.tasks.values()].filter(({ seen }) => (seen[0]?.items.length ?? 0) > 4);
  const [one, two, three] = completed;
  const [four, five, six] = streamed;
  if (!one || !two || !three || !four || !five || !six) throw new Error("too little has happened to lie about");
  ledger.task({ id: "never-was", contextId: "" });
  one.canceled = true;
  two.messageIds.add("unheard");
  if (three.last !== undefined) three.last = { ...three.last, history: [] };
  itemsOf(four).splice(2, 1);
  const [snapshot] = itemsOf(five);
  if (snapshot !== undefined) itemsOf(five).push({ ...snapshot, recovered: "resync" });
  six.configured.push({ path: "/nobody", fromStart: true });
  for (const entry of ledger.sent) if (entry.answer !== undefined) entry.answer = { taskId: "another" };
  const held = await send(scene, "GRPC", "hold", { configuration: { returnImmediately: true } });
  // The agent notes its run after the answer. A note that came later would name a living process.
  const isNoted = () => server.runs().some(({ taskId, kind }) => taskId === held?.id && kind === "stored");
  await expect.poll(isNoted).toBe(true);
  await runElsewhere(runs);
}

const itemsOf = ({ seen }: KnownTask) => seen[0]?.items ?? [];

// Every run comes from another process, and a message whose task was stored has begun once more.
async function runElsewhere(runs: string): Promise<void> {
  const text = (await readFile(runs, "utf8")).replaceAll(/"life":\d+/g, '"life":1');
  await writeFile(runs, text);
  const isStored = (line: string) => line.includes('"kind":"stored"') && line.includes('"cause":"message"');
  const record = text.split("\n").findLast(isStored) ?? "";
  await appendFile(runs, `${record.replace('"stored"', '"begun"').replace('"life":1', '"life":2')}\n`);
}
