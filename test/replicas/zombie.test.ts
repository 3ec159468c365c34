import { describe, expect, inject, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { TaskState } from "../../src/protocol/model.js";
import type { StreamItem } from "../../src/protocol/operations.js";
import { anonymous } from "../../src/server/authentication.js";
import { postgresStore } from "../../src/store/postgres/index.js";
import { ExactSubscriber, storedLog } from "../support/exact-subscriber.js";
import { taskOf, textIn } from "../support/say.js";
import { newDatabase } from "./database.js";
import { startFleet } from "./fleet.js";

// A process is stopped for longer than its lease and then continues with most of its chunks still to write.

const scope = { agent: "", tenant: "", owner: anonymous.owner };
const chunks = 600;
const seenBefore = 20;

describe.skipIf(inject("postgres") === undefined)("a process that is stopped past its expiry", () => {
  it.each([
    { agent: "that another process runs again", restartable: true },
    { agent: "that cannot be run again, so that its task is ended", restartable: false },
  ])(
    "a process that is stopped past its expiry writes nothing when it continues, with an agent $agent",
    async ({ restartable }) => {
      const url = await newDatabase();
      await using fleet = await startFleet({ store: url, restartable });
      const [here, there] = await Promise.all(fleet.members.map((member) => Client.connect(member.url)));
      const [holder] = fleet.members;
      if (holder === undefined || here === undefined || there === undefined) throw new Error("the fleet is too small");

      const own = new Follower(here.stream(`chunks ${chunks} 5`));
      await own.until(() => own.items.length === seenBefore);
      const { id } = taskOf((await own.first()).response);
      const followed = new Follower(there.subscribeToTask({ id }));
      await followed.first();
      process.kill(holder.life, "SIGSTOP");
      await followed.until((item) => isTakenOver(item));
      process.kill(holder.life, "SIGCONT");
      await Promise.all([followed.rest(), own.rest()]);

      const store = postgresStore({ url, hints: false });
      const log = await storedLog(store, scope, id);
      // It serves again, which gives it time for its remaining writes.
      for (let count = 0; count < 3; count++) {
        const answer = await here.send("chunks 100 5");
        expect(answer.state).toBe("completed");
      }
      expect(await storedLog(store, scope, id)).toEqual(log);
      for (const each of [own, followed]) expect(each.subscriber.differences(log, true)).toEqual([]);
      const task = await there.getTask({ id });
      expect(task.status?.state).toBe(restartable ? TaskState.COMPLETED : TaskState.FAILED);
      const lines = textIn(task.artifacts[0]?.parts).trim().split("\n");
      const attempt = restartable ? 2 : 1;
      expect(lines.map(locationOf)).toEqual(lines.map((_, index) => `${attempt}:${index}`));
      if (restartable) expect(lines).toHaveLength(chunks);
      else expect(lines.length).toBeLessThan(chunks);
      await Promise.all([store.close(), here.close(), there.close()]);
    },
  );
});

/** Reads a stream step by step. */
class Follower {
  readonly subscriber = new ExactSubscriber();
  readonly #iterator: AsyncIterator<StreamItem>;

  constructor(stream: AsyncIterable<StreamItem>) {
    this.#iterator = stream[Symbol.asyncIterator]();
  }

  get items(): readonly StreamItem[] {
    return this.subscriber.items;
  }

  async first(): Promise<StreamItem> {
    if (this.items.length === 0) await this.until(() => true);
    const [first] = this.items;
    if (first === undefined) throw new Error("the stream was empty");
    return first;
  }

  async until(isThere: (item: StreamItem) => boolean): Promise<void> {
    for (;;) {
      const step = await this.#iterator.next();
      if (step.done === true) throw new Error(`the stream has ended after ${this.items.length} items`);
      this.subscriber.see(step.value);
      if (isThere(step.value)) return;
    }
  }

  rest(): Promise<void> {
    return this.subscriber.read({ [Symbol.asyncIterator]: () => this.#iterator });
  }
}

/** Whether another process has restarted or ended the task. */
function isTakenOver({ response: { payload } }: StreamItem): boolean {
  if (payload.case === "statusUpdate") return payload.value.status?.state === TaskState.FAILED;
  return payload.case === "artifactUpdate" && locationOf(textIn(payload.value.artifact?.parts)).startsWith("2:");
}

/** The `attempt:index` of a chunk. */
function locationOf(line: string): string {
  return line.split(" ", 1).join("");
}
