import { equals } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { A2AError } from "../../../src/protocol/errors.js";
import { copyTask } from "../../../src/protocol/fold.js";
import { type StreamResponse, TaskSchema } from "../../../src/protocol/model.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { collect } from "../../support/answers.js";
import { patientClients } from "../../support/clients.js";
import { garbage, httpAnswers } from "../../support/fault-answers.js";
import { createFaultProxy } from "../../support/fault-proxy.js";
import { cutAfter, type Rule } from "../../support/fault-schedule.js";
import { leftOpen, openHandles } from "../../support/leaks.js";
import { lineOf } from "../../support/say.js";
import { tries } from "../../support/tries.js";
import { turns } from "../../support/turns.js";
import { allBindings, ended, type FaultyServer, faultyServer, sixLines } from "./faults-server.js";
import { type ForeignAgent, foreignAgent, hasty, jsonBindings } from "./resuming-agent.js";
import { chunk, status, taskEvent } from "./resuming-events.js";

// Random fault schedules that end: the caller gets everything, or one clear error.

const arbitraryCut = fc
  .record({
    direction: fc.oneof({ weight: 4, arbitrary: fc.constant("response" as const) }, fc.constant("request" as const)),
    after: fc.nat(2500),
    how: fc.constantFrom("end" as const, "reset" as const, "half" as const),
  })
  // A server answers half a request with an error.
  .map(({ direction, after, how }) =>
    cutAfter(direction, after, direction === "request" && how === "half" ? "end" : how),
  );
const arbitraryRule = fc.oneof(
  { weight: 8, arbitrary: arbitraryCut },
  fc.constantFrom<Rule>(
    { kind: "close" },
    { kind: "reset" },
    { kind: "pass" },
    { kind: "raw", bytes: garbage(60), ending: "reset" },
    { kind: "answer", answer: httpAnswers.unavailable },
    { kind: "flow", response: { pieces: { every: 7 } } },
  ),
);
const arbitrarySchedule = fc
  .array(arbitraryRule, { minLength: 1, maxLength: 6 })
  .map((rules): Rule[] => [...rules, { kind: "pass" }]);

const ownRuns = tries(20, 60);
const otherRuns = tries(50, 150);

let served: FaultyServer;
beforeAll(async () => {
  served = await faultyServer();
});
afterAll(() => served[Symbol.asyncDispose]());

describe.each(allBindings)("over %s", (binding) => {
  it("a stream of our server gives every event once, in order, or one error", async () => {
    let whole = 0;
    const handles = openHandles();
    await fc.assert(
      fc.asyncProperty(arbitrarySchedule, async (schedule) => {
        const before = served.runs;
        await using way = await served.way(binding, schedule);
        const { lines, error } = await ended(way.client.stream("go"));
        expect(served.runs - before).toBeLessThanOrEqual(1);
        if (error === undefined) {
          whole++;
          expect(lines).toEqual(sixLines);
        } else {
          expect(error).toBeInstanceOf(A2AError);
          expect(lines).toEqual(sixLines.slice(0, lines.length));
        }
      }),
      { numRuns: ownRuns },
    );
    expect(whole).toBeGreaterThan(ownRuns / 3);
    expect(await leftOpen(handles)).toEqual({});
  });
});

const arbitraryScript = fc
  .array(
    fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom("a", "b").map((id) => (text: string) => chunk(text, true, id)) },
      fc.constantFrom("a", "b").map((id) => (text: string) => chunk(text, false, id)),
      fc.constant((text: string) => status("WORKING", text)),
      fc.constant(() => status("WORKING")),
      fc.constant(() => status("AUTH_REQUIRED")),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((makes): StreamResponse[] => [
    status("WORKING"),
    ...makes.map((make, place) => make(`${place} `)),
    status("COMPLETED", "done"),
  ]);

const arbitraryHabits = fc.record({
  streams: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, fc.constant(false)),
  subscription: fc.constantFrom("task" as const, "nothing" as const),
  refusal: fc.constantFrom("unsupportedOperation" as const, "taskNotFound" as const),
  refusesAll: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
});

/** Plays a script once the agent has received a message. */
async function play(agent: ForeignAgent, script: readonly StreamResponse[]): Promise<void> {
  await agent.until(() => agent.calls.length > 0);
  agent.emit(taskEvent(copyTask(agent.task)));
  for (const event of script) {
    agent.emit(event);
    await turns(3);
  }
  agent.endStreams();
}

async function* noted(stream: AsyncIterable<StreamItem>, items: StreamItem[]): AsyncGenerator<StreamItem> {
  for await (const item of stream) {
    items.push(item);
    yield item;
  }
}

describe.each(jsonBindings)("over %s", (binding) => {
  it("a stream of another agent adds up to its task, nothing lost and nothing twice, or ends with one error", async () => {
    let whole = 0;
    const handles = openHandles();
    await fc.assert(
      fc.asyncProperty(arbitrarySchedule, arbitraryHabits, arbitraryScript, async (schedule, habits, script) => {
        await using agent = await foreignAgent(habits);
        await using proxy = await createFaultProxy({ target: { port: agent.port }, schedule });
        await using client = await patientClients.connect(agent.card(binding, proxy.port), {
          clock: hasty,
        });
        const items: StreamItem[] = [];
        const played = play(agent, script);
        try {
          const task = await collect(noted(client.stream("go"), items));
          await played;
          const { history: _, ...now } = agent.task;
          if (task.$typeName !== "lf.a2a.v1.Task") throw new Error("no task");
          const transcript = `${items.map(lineOf).join("\n")}`;
          expect(equals(TaskSchema, { ...task, history: [] }, { ...now, history: [] }), transcript).toBe(true);
          whole++;
        } catch (error) {
          expect(error).toBeInstanceOf(A2AError);
        }
        expect(agent.calls.filter((name) => name.startsWith("send")).length).toBeLessThanOrEqual(1);
      }),
      { numRuns: otherRuns },
    );
    expect(whole).toBeGreaterThan(otherRuns / 4);
    expect(await leftOpen(handles)).toEqual({});
  });
});
