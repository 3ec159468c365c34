import { randomUUID } from "node:crypto";
import {
  A2AError,
  type Agent,
  type AgentEvent,
  artifact,
  completed,
  data,
  reply,
  type Task,
  text,
  working,
} from "trivium";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { errorOf, linesOf, requestOf, say, stateOf, taskOf, textIn } from "../../support/say.js";
import { overEach, type ServedAgent } from "../../support/serve-agent.js";
import { tries } from "../../support/tries.js";
import { wiresThat } from "../../support/wires.js";

// Agents written in JavaScript, or agents that pass on a model's output. What no binding could write is never stored,
// since such a task could not be read again.

const cycle: Record<string, unknown> = {};
cycle["self"] = cycle;
const cycles: Record<string, unknown> = {};
Object.assign(cycles, { left: cycles, right: cycles });
let deep: object = {};
for (let level = 0; level < 20_000; level++) deep = { deep };

const anArtifact = (changes: object): object => ({
  ...artifact("x"),
  artifact: { ...artifact("x").artifact, ...changes },
});
const aPart = (changes: object): object => reply({ ...text("x"), ...changes } as never);
const aStatus = (changes: object): object => ({ ...working(), status: { ...working().status, ...changes } });

const fail = (): never => {
  throw new Error("no such garbage");
};

const garbage: readonly (readonly [what: string, make: () => unknown])[] = [
  ["nothing", () => undefined],
  ["null", () => null],
  ["a text", () => "done"],
  ["a number", () => 7],
  ["a list", () => [working()]],
  ["an empty object", () => ({})],
  ["an event of another protocol", () => ({ kind: "status-update", final: true })],
  ["the task of somebody else", () => ({ ...working(), taskId: "somebody-else" })],
  ["the context of somebody else", () => ({ ...reply("x"), contextId: "somebody-else" })],
  ["a status without a state", () => ({ ...working(), status: undefined })],
  ["a state that does not exist", () => aStatus({ state: 99 })],
  ["a state by its word", () => aStatus({ state: "COMPLETED" })],
  ["a state of every object", () => aStatus({ state: "constructor" })],
  ["a status message that is text", () => aStatus({ message: "done" })],
  ["an artifact without parts", () => anArtifact({ parts: [] })],
  ["parts that are text", () => anArtifact({ parts: "x" })],
  ["a part that is text", () => anArtifact({ parts: ["x"] })],
  ["a part without a content", () => aPart({ content: undefined })],
  ["a part of an unknown kind", () => aPart({ content: { case: "video", value: "x" } })],
  ["a text that is a number", () => aPart({ content: { case: "text", value: 7 } })],
  ["bytes that are text", () => aPart({ content: { case: "raw", value: "AAEC" } })],
  ["data that is no value", () => aPart({ content: { case: "data", value: { a: 1 } } })],
  ["a name that is a number", () => anArtifact({ name: 7 })],
  ["an id that is an object", () => anArtifact({ artifactId: {} })],
  ["extensions that are numbers", () => anArtifact({ extensions: [1] })],
  ["metadata that is text", () => anArtifact({ metadata: "x" })],
  ["metadata that is a list", () => ({ ...working(), metadata: [] })],
  ["metadata that holds itself", () => anArtifact({ metadata: cycle })],
  ["metadata that holds itself twice", () => ({ ...working(), metadata: cycles })],
  ["metadata of 20,000 levels", () => reply("x", { metadata: deep as never })],
  ["metadata with NaN", () => anArtifact({ metadata: { ratio: Number.NaN } })],
  ["metadata with a BigInt", () => ({ ...working(), metadata: { count: 10n } })],
  ["metadata with a function", () => aPart({ metadata: { call: () => {} } })],
  ["metadata named __proto__", () => anArtifact({ metadata: JSON.parse('{"__proto__":{"a":1}}') })],
  ["an append to nothing", () => ({ ...artifact("x"), append: true })],
];

/** Repairable garbage and its repaired form. */
const mendable: readonly (readonly [what: string, make: () => unknown, seen: object])[] = [
  ["half a surrogate pair in a text", () => artifact("a\ud800b"), { parts: [{ content: { value: "a\ufffdb" } }] }],
  ["half a surrogate pair in a name", () => artifact("x", { name: "a\udc00" }), { name: "a\ufffd" }],
  [
    "half a surrogate pair in metadata",
    () => artifact("x", { metadata: { "\ud800": ["\udc00"] } }),
    { metadata: { "\ufffd": ["\ufffd"] } },
  ],
  [
    "a Date in metadata",
    () => artifact("x", { metadata: { at: new Date(0) as never } }),
    { metadata: { at: "1970-01-01T00:00:00.000Z" } },
  ],
  ["undefined in metadata", () => artifact("x", { metadata: { a: undefined as never, b: 1 } }), { metadata: { b: 1 } }],
  [
    "fields left out",
    () => ({ $typeName: artifact("x").$typeName, artifact: { parts: [{ content: { case: "text", value: "x" } }] } }),
    { parts: [{ content: { value: "x" } }] },
  ],
];

type Client = ServedAgent["client"];

let turn = 0;

/** The wire of the task and one more, which is another one in each case; all of them in `npm run test:sweeps`. */
function sample(clients: readonly Client[], own: Client): readonly Client[] {
  const at = turn++ % clients.length;
  return [own, ...(tries(1, 0) === 1 ? clients.slice(at, at + 1) : clients)];
}

/** The tasks of one conversation, which must look the same over each wire. */
async function shownEverywhere(clients: readonly Client[], contextId: string): Promise<Task[]> {
  const request = requestOf("listTasks", { contextId, includeArtifacts: true, historyLength: 10 });
  const pages = await Promise.all(clients.map((client) => client.listTasks(request, {})));
  for (const page of pages) expect(page).toEqual(pages[0]);
  return pages[0]?.tasks ?? [];
}

const emitting = (before: readonly AgentEvent[], make: () => unknown): Agent =>
  async function* () {
    yield* before;
    yield make() as AgentEvent;
  };

/** An agent that emits what the message's text asks for. */
const obliging: Agent = (turn) => {
  const [place, what] = turn.text.split(": ");
  const [, make = fail] = [...garbage, ...mendable].find(([name]) => name === what) ?? [];
  return emitting(place === "later" ? [working()] : [], make)(turn);
};

overEach(wiresThat("list tasks"), (start) => {
  let served: ServedAgent;
  let everywhere: Client[] = [];
  let contextId = "";
  beforeAll(async () => {
    served = await start({ agent: obliging });
    everywhere = wiresThat("list tasks").map((wire) => served.clientOver(wire));
  });
  afterAll(() => served[Symbol.asyncDispose]());
  beforeEach(() => {
    contextId = randomUUID();
  });
  const errors = (): number => served.log.filter(({ level }) => level === "error").length;

  it.each(garbage)("an agent whose first event is %s fails the call, and makes no task", async (what) => {
    const before = errors();
    const request = say(`first: ${what}`, { contextId });
    const failures = [
      await errorOf(served.client.sendMessage(request, {})),
      await errorOf(served.client.sendStreamingMessage(request, {})),
    ];
    expect(failures.map(({ code }) => code)).toEqual(["invalidAgentResponse", "invalidAgentResponse"]);
    expect(failures.map(({ message }) => message).join()).not.toContain("somebody-else");
    expect(errors() - before).toBe(2);
    expect(await shownEverywhere([served.client], contextId)).toEqual([]);
  });

  it.each(garbage)("a task whose agent emits %s fails, and stays readable", async (what) => {
    const request = say(`later: ${what}`, { contextId });
    const task = taskOf(await served.client.sendMessage(request, {}));
    expect(stateOf(task)).toBe("FAILED");
    expect(textIn(task.status?.message?.parts)).not.toContain("somebody-else");
    expect((await linesOf(served.client.sendStreamingMessage(request, {}))).at(-1)).toBe("status FAILED");
    expect((await shownEverywhere(sample(everywhere, served.client), contextId)).map(stateOf)).toEqual([
      "FAILED",
      "FAILED",
    ]);
  });

  it.each(mendable)("%s is repaired the same way on every wire", async (what, _, repair) => {
    const task = taskOf(await served.client.sendMessage(say(`first: ${what}`, { contextId }), {}));
    expect([stateOf(task), task.artifacts]).toMatchObject(["COMPLETED", [repair]]);
    expect(await shownEverywhere(sample(everywhere, served.client), contextId)).toMatchObject([
      { artifacts: [repair] },
    ]);
  });
});

overEach(["JSONRPC 0.3", "HTTP+JSON 0.3", "GRPC 0.3", "JSONRPC 0.1"], (start) => {
  let served: ServedAgent;
  beforeAll(async () => {
    served = await start({ agent: obliging });
  });
  afterAll(() => served[Symbol.asyncDispose]());

  it.each(garbage)("a task of an older caller whose agent emits %s fails, and stays readable", async (what) => {
    const request = say(`later: ${what}`, { contextId: randomUUID() });
    const task = taskOf(await served.client.sendMessage(request, {}));
    const again = await served.client.getTask(requestOf("getTask", { id: task.id }), {});
    expect([stateOf(task), stateOf(again)]).toEqual(["FAILED", "FAILED"]);
    expect(textIn(again.status?.message?.parts)).not.toContain("somebody-else");
    expect((await linesOf(served.client.sendStreamingMessage(request, {}))).at(-1)).toBe("status FAILED");
  });
});

overEach(["JSONRPC", "GRPC"], (start) => {
  it("an event over the limit fails the task, with the limit named", async () => {
    for (const event of [
      artifact("x".repeat(5_000)),
      artifact("x", { metadata: { x: "x".repeat(5_000) } }),
      completed("x".repeat(5_000)),
    ]) {
      await using served = await start({ limits: { eventMaxBytes: 4_000 }, agent: emitting([working()], () => event) });
      const task = taskOf(await served.client.sendMessage(say("go"), {}));
      expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual([
        "FAILED",
        "the event is over the limit of 4000 bytes (eventMaxBytes)",
      ]);
      expect(task.artifacts).toEqual([]);
    }
  });

  it("a reply over the limit is not sent, whatever makes it large", async () => {
    const x = "x".repeat(5_000);
    for (const large of [reply(x), reply(data({ x })), reply("x", { metadata: { x } })]) {
      await using served = await start({ limits: { eventMaxBytes: 4_000 }, agent: async () => large });
      const task = taskOf(await served.client.sendMessage(say("go"), {}));
      const end = [stateOf(task), textIn(task.status?.message?.parts)];
      expect(end).toEqual(["FAILED", "the message is over the limit of 4000 bytes (eventMaxBytes)"]);
    }
  });

  it("the error thrown at the agent's `yield` names the field", async () => {
    const errors: unknown[] = [];
    await using served = await start({
      async *agent() {
        try {
          yield anArtifact({ metadata: { deep: [{ ratio: Number.POSITIVE_INFINITY }] } }) as AgentEvent;
        } catch (error) {
          errors.push(error instanceof A2AError ? error.message : error);
          yield reply("went on");
        }
      },
    });
    const { payload } = await served.client.sendMessage(say("go"), {});
    expect([payload.case, errors]).toEqual(["message", [expect.stringContaining("artifact.metadata.deep[0].ratio")]]);
  });
});
