import { expect } from "vitest";
import type { Client } from "../../src/client/node.js";
import type { AgentCard } from "../../src/protocol/model.js";
import type { StreamItem } from "../../src/protocol/operations.js";
import { collect } from "../support/answers.js";
import { clientsWith } from "../support/clients.js";
import { stateOf } from "./client-cases.js";
import { relayTo } from "./relay.js";

// Streams whose connections break while the agent sends. The reader must still get all of the content.

const count = 60;
const everything = Array.from({ length: count }, (_, index) => `${index},`).join("");
const timeoutMs = 30_000;

/** An action on an agent, given its card. */
export const cutCases: Readonly<Record<string, (card: AgentCard) => Promise<void>>> = {
  "loses and doubles nothing of a stream that is cut": (card) =>
    withRelay(card, async (client, cut) => {
      await expectAll(cutAt([5, 20], client.stream(`stream ${count} 10`, { timeoutMs }), cut));
    }),

  "loses and doubles nothing of a stream whose end is cut off": (card) =>
    withRelay(card, async (client, cut) => {
      await expectAll(cutAt([count - 1], client.stream(`stream ${count} 10`, { timeoutMs }), cut));
    }),

  "loses and doubles nothing of a subscription that is cut": (card) =>
    withRelay(card, async (client, cut) => {
      const first = client.stream(`stream ${count} 15`, { timeoutMs })[Symbol.asyncIterator]();
      const step = await first.next();
      const payload = step.done === true ? undefined : step.value.response.payload;
      if (payload?.case !== "task") throw new Error(`a task was wanted, not ${payload?.case}`);
      // Not every SDK continues a task whose first stream is left.
      const reading = drained(first);
      await expectAll(cutAt([3, 12], client.subscribeToTask({ id: payload.value.id }, { timeoutMs }), cut));
      await reading;
    }),
};

async function withRelay(card: AgentCard, run: (client: Client, cut: () => void) => Promise<void>): Promise<void> {
  await using relay = await relayTo(card);
  const clients = clientsWith({ snapshotTimeoutMs: 500 });
  await using client = await clients.connect(relay.card, { grpcTls: false, limits: { pollMs: 50 } });
  await run(client, relay.cut);
}

/** The items of a stream that is cut after `count` chunks. */
async function* cutAt(
  places: readonly number[],
  items: AsyncIterable<StreamItem>,
  cut: () => void,
): AsyncGenerator<StreamItem, void, undefined> {
  let chunks = 0;
  for await (const item of items) {
    yield item;
    if (item.response.payload.case !== "artifactUpdate") continue;
    if (places.includes(++chunks)) cut();
  }
}

async function expectAll(items: AsyncIterable<StreamItem>): Promise<void> {
  const task = await collect(items);
  if (task.$typeName !== "lf.a2a.v1.Task") throw new Error("a task was wanted, not a message");
  const text = task.artifacts.flatMap(({ parts }) => parts.map(({ content }) => content.value)).join("");
  expect([stateOf(task), text]).toEqual(["COMPLETED", everything]);
}

async function drained(items: AsyncIterator<unknown>): Promise<void> {
  while ((await items.next()).done !== true);
}
