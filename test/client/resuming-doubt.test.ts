import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { emptyTask } from "../../src/protocol/fold.js";
import { textIn } from "../support/say.js";
import { createVirtualClock, turnUntil, type VirtualClock } from "../support/virtual-clock.js";
import { type ForeignAgent, foreignAgent, type JsonBinding, jsonBindings } from "./stream/resuming-agent.js";
import { chunk, type LineReader, lineReaderOf, status, taskEvent } from "./stream/resuming-events.js";
import { begunScene, sceneOf } from "./stream/resuming-scene.js";

// Agents that repeat or drop events where a snapshot meets the stream, or that never end a stream.

describe.each(jsonBindings)("over %s, a stream assembled by comparison", (binding) => {
  it("a stream assembled by comparison ends with the whole task when the agent repeated a piece", async () => {
    await using scene = await begunScene(binding);
    const { agent, stream } = scene;
    agent.cut();
    await agent.opened(0);
    agent.emit(chunk("two "));
    expect(await stream.next()).toBe('difference: artifact a "two " append');
    agent.tell(chunk("two "));
    agent.emit(status("COMPLETED"));
    expect(await stream.rest()).toEqual(['artifact a "two " append', "status COMPLETED", "resync: task COMPLETED"]);
    expect(textsOf(stream)).toEqual(["one two "]);
    expect(agent.calls).toEqual(["sendStreamingMessage", "subscribeToTask", "getTask"]);
    await agent.opened(0);
  });

  it("a stream assembled by comparison ends with the whole task when the agent omitted a piece", async () => {
    await using scene = await begunScene(binding);
    const { agent, stream } = scene;
    agent.cut();
    await agent.opened(0);
    agent.emit(chunk("two "));
    expect(await stream.next()).toBe('difference: artifact a "two " append');
    agent.keep(chunk("three "));
    agent.emit(chunk("four"), status("COMPLETED"));
    expect((await stream.rest()).slice(2)).toEqual(["resync: task COMPLETED"]);
    expect(textsOf(stream)).toEqual(["one two three four"]);
  });

  it("a stream assembled by comparison ends with one read of the task, and adds only what is missing", async () => {
    await using scene = await begunScene(binding);
    const { agent, stream } = scene;
    agent.cut();
    await agent.opened(0);
    agent.emit(chunk("two "));
    expect(await stream.next()).toBe('difference: artifact a "two " append');
    agent.emit(chunk("three"), status("COMPLETED", "done"));
    expect(await stream.rest()).toEqual(['artifact a "three" append', "status COMPLETED"]);
    expect(agent.calls).toEqual(["sendStreamingMessage", "subscribeToTask", "getTask"]);
  });

  it("a stream assembled by comparison keeps what it emitted of a task that is not stored yet", async () => {
    await using scene = await begunScene(binding);
    const { agent, stream } = scene;
    agent.cut();
    await agent.opened(0);
    agent.emit(chunk("two "));
    await stream.next();
    agent.tell(status("COMPLETED"));
    expect(await stream.rest()).toEqual(["status COMPLETED"]);
  });

  it("a stream assembled by comparison yields each piece once when every chunk is an artifact", async () => {
    await using scene = await begunScene(binding);
    const { agent, stream } = scene;
    const apart = (...texts: string[]) => texts.map((text) => artifactOf(text));
    agent.cut();
    await agent.opened(0);
    agent.task = { ...agent.task, artifacts: apart("one ", "two ", "three ") };
    expect(await stream.next()).toBe('difference: artifact a "two three " append');
    agent.tell(chunk("four"), status("COMPLETED"));
    agent.keep(status("COMPLETED"));
    agent.task = { ...agent.task, artifacts: apart("one ", "two ", "three ", "four") };
    expect(await stream.rest()).toEqual(['artifact a "four" append', "status COMPLETED"]);
  });
});

describe.each(jsonBindings)("over %s, a subscription", (binding) => {
  it("a subscription ends with the whole task when it repeated the content of its snapshot", async () => {
    const open = (client: Client) => client.watch("t");
    await using scene = await sceneOf(binding, {}, open);
    const { agent, stream } = scene;
    agent.emit(status("WORKING"), chunk("one ", false));
    expect(await stream.next()).toBe("task WORKING");
    agent.tell(chunk("one "));
    agent.emit(chunk("two"), status("COMPLETED"));
    agent.endStreams();
    expect((await stream.rest()).at(-1)).toBe("resync: task COMPLETED");
    expect(textsOf(stream)).toEqual(["one two"]);
    expect(agent.calls).toEqual(["subscribeToTask", "getTask"]);
  });

  it("a subscription joins the chunks of an agent that stores each as a separate artifact", async () => {
    const open = (client: Client) => client.watch("t");
    await using scene = await sceneOf(binding, {}, open);
    const { agent, stream } = scene;
    agent.task = { ...agent.task, artifacts: [artifactOf("one "), artifactOf("two ")] };
    expect(await stream.next()).toBe("task SUBMITTED");
    expect(textsOf(stream)).toEqual(["one two "]);
  });
});

interface SilentScene extends AsyncDisposable {
  readonly agent: ForeignAgent;
  readonly clock: VirtualClock;
  readonly stream: LineReader;
  /** Advances the clock until the promise settles. */
  turned<T>(promise: Promise<T>): Promise<T>;
}

async function silentScene(binding: JsonBinding, open: (client: Client) => ReturnType<Client["stream"]>) {
  const clock = createVirtualClock();
  const agent = await foreignAgent();
  const client = await agent.connect(binding, { clock }, Client);
  const scene: SilentScene = {
    agent,
    clock,
    stream: lineReaderOf(open(client)),
    async turned(promise) {
      await turnUntil(clock, promise.then(ignore, ignore));
      return promise;
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await agent[Symbol.asyncDispose]();
    },
  };
  return scene;
}

const subscribed = (client: Client) => client.watch("t");
const openStream = (client: Client) => client.stream("go");

describe.each(jsonBindings)("over %s, a stream that is silent", (binding) => {
  it.each([
    ["subscription", subscribed],
    ["send", openStream],
  ])("a silent stream gets the end of the task that its agent never sent: %s", async (_, open) => {
    await using scene = await silentScene(binding, open);
    const { agent, stream, turned } = scene;
    const first = stream.next();
    await agent.opened(1);
    if (open === openStream) agent.tell(taskEvent(emptyTask("t", "c")));
    expect(await first).toBe("task SUBMITTED");
    agent.emit(chunk("one ", false));
    expect(await stream.next()).toBe('artifact a "one "');
    agent.keep(chunk("two"), status("COMPLETED"));
    expect(await turned(stream.rest())).toEqual([
      'difference: artifact a "two" append',
      "difference: status COMPLETED",
    ]);
    await agent.opened(0);
  });

  it("a silent stream is left after the end of its task if the agent never ends it", async () => {
    await using scene = await silentScene(binding, openStream);
    const { agent, stream, turned } = scene;
    const first = stream.next();
    await agent.opened(1);
    agent.emit(taskEvent(emptyTask("t", "c")), status("COMPLETED"));
    expect(await first).toBe("task SUBMITTED");
    expect(await turned(stream.rest())).toEqual(["status COMPLETED"]);
    expect(agent.calls).toEqual(["sendStreamingMessage", "getTask"]);
    await agent.opened(0);
  });

  it("a silent stream gets the changes of a continuing task", async () => {
    await using scene = await silentScene(binding, subscribed);
    const { agent, stream, turned } = scene;
    expect(await stream.next()).toBe("task SUBMITTED");
    agent.keep(chunk("one ", false));
    expect(await turned(stream.next())).toBe('difference: artifact a "one "');
    await agent.opened(1);
    agent.emit(chunk("two"), status("COMPLETED"));
    expect(await turned(stream.rest())).toEqual(['artifact a "two" append', "status COMPLETED"]);
  });

  it("a silent stream stays open while the task stays as it was", async () => {
    await using scene = await silentScene(binding, subscribed);
    const { agent, clock, stream, turned } = scene;
    expect(await stream.next()).toBe("task SUBMITTED");
    const next = stream.next();
    const countReads = () => agent.calls.filter((name) => name === "getTask").length;
    await turnUntil(
      clock,
      agent.until(() => countReads() >= 3),
    );
    expect(agent.calls.filter((name) => name !== "getTask")).toEqual(["subscribeToTask"]);
    agent.emit(chunk("one", false), status("COMPLETED"));
    expect(await next).toBe('artifact a "one"');
    expect(await turned(stream.rest())).toEqual(["status COMPLETED"]);
  });

  it("a silent stream is not polled after its reader leaves", async () => {
    await using scene = await silentScene(binding, subscribed);
    const { agent, clock, stream } = scene;
    await stream.next();
    const next = stream.next();
    await stream.leave();
    expect(await next).toBe("end");
    expect(clock.pending()).toEqual([]);
    expect(agent.calls).toEqual(["subscribeToTask"]);
  });
});

function artifactOf(value: string) {
  const { payload } = chunk(value);
  if (payload.case !== "artifactUpdate" || payload.value.artifact === undefined) throw new TypeError("no artifact");
  return payload.value.artifact;
}

/** The texts of the artifacts of the last task event. */
function textsOf({ last }: LineReader): string[] {
  const payload = last?.response.payload;
  return payload?.case === "task" ? payload.value.artifacts.map(({ parts }) => textIn(parts)) : [];
}

function ignore(): void {}
