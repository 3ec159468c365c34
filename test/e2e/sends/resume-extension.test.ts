import { artifact, reply, type StreamItem, working } from "trivium";
import { expect, it } from "vitest";
import { readEventId, resumeExtension, withoutEventId } from "../../../src/protocol/extensions.js";
import { itemsOf } from "../../support/items.js";
import { lineOf, linesOf, openStream, requestOf, say, taskOf } from "../../support/say.js";
import { overEach, startAgent } from "../../support/serve-agent.js";
import { wiresThat } from "../../support/wires.js";

// Where a stream has no field for event ids, the events carry them in metadata and a client removes them again. These
// tests look at the wires.

const marked = { extensions: [resumeExtension] };
const subscribe = (id: string) => requestOf("subscribeToTask", { id });
const idIn = ({ response }: StreamItem): string | undefined => readEventId(response);

async function* threeEvents() {
  yield working("on it", { metadata: { by: "agent" } });
  yield artifact("a", { artifactId: "x" });
  yield artifact("b", { artifactId: "x", append: true, lastChunk: true });
}

overEach(wiresThat("activate extensions"), (start, wire) => {
  it("each event carries its id on request, beside the agent's own metadata", async () => {
    await using served = await start({ agent: threeEvents });
    const items = await itemsOf(served.transport.sendStreamingMessage(say("x"), marked));
    expect(items).toHaveLength(5);
    expect(new Set(items.map(idIn)).size).toBe(5);
    expect(items.map(idIn)).not.toContain(undefined);
    const status = items[1]?.response.payload;
    expect(status?.case === "statusUpdate" && status.value.metadata).toMatchObject({ by: "agent" });
    if (wire === "JSONRPC" || wire === "HTTP+JSON") expect(items.map(idIn)).toEqual(items.map(({ id }) => id));
  });

  it("events carry no id for a concurrent reader that did not request it", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = await start({
      async *agent() {
        yield working();
        await gate.promise;
        yield* threeEvents();
      },
    });
    const first = await openStream(served.transport.sendStreamingMessage(say("x"), marked));
    const { id } = taskOf(first.firstItem.response);
    const readers = [marked, {}, marked, {}].map((options) => served.transport.subscribeToTask(subscribe(id), options));
    const open = await Promise.all(readers.map(openStream));
    gate.resolve();
    const [one, bare, ...others] = await Promise.all(
      open.map(({ firstItem: first, iterator }) =>
        itemsOf({ [Symbol.asyncIterator]: () => iterator }).then((rest) => [first, ...rest]),
      ),
    );
    expect(bare?.map(idIn).every((each) => each === undefined)).toBe(true);
    expect(one?.map(idIn)).not.toContain(undefined);
    const plain = (items: readonly StreamItem[] = []) =>
      items.slice(-3).map(({ response }) => withoutEventId(response));
    for (const each of [one, ...others]) expect(plain(each)).toEqual(plain(bare));
    await first.iterator.return?.();
    const task = await served.transport.getTask(requestOf("getTask", { id }), marked);
    expect(JSON.stringify([task.metadata, task.artifacts])).not.toContain(resumeExtension);
  });

  it("a caller that resumes with an event id gets exactly the events it missed", async () => {
    let runs = 0;
    await using served = await start({
      agent() {
        runs++;
        return threeEvents();
      },
    });
    const items = await itemsOf(served.transport.sendStreamingMessage(say("x"), marked));
    const [first] = items;
    const id = first === undefined ? "" : taskOf(first.response).id;
    for (const [index, item] of items.entries()) {
      const options = { ...marked, after: idIn(item) };
      const rest = items.slice(index + 1);
      expect(await itemsOf(served.transport.subscribeToTask(subscribe(id), options))).toEqual(rest);
      expect(await itemsOf(served.transport.sendStreamingMessage(say("y"), options))).toEqual(rest);
    }
    expect(runs).toBe(1);
  });

  it("a message carries no event id", async () => {
    await using served = await start({ agent: async () => reply("pong") });
    const items = await itemsOf(served.transport.sendStreamingMessage(say("x"), marked));
    expect(items.map(lineOf)).toEqual(['message "pong"']);
    expect(JSON.stringify(items[0]?.response.payload.value)).not.toContain(resumeExtension);
  });
});

it("a card lists the resume extension, unless its agent does not stream", async () => {
  const card = { name: "Unary", description: "Does not stream", version: "1", capabilities: { streaming: false } };
  const uris = async (options: object) => {
    await using served = await startAgent("JSONRPC", { agent: threeEvents, ...options });
    return served.server.card.capabilities?.extensions.map(({ uri }) => uri);
  };
  expect(await uris({})).toContain(resumeExtension);
  expect(await uris({ card })).not.toContain(resumeExtension);
});

it("the author may list the resume extension as required", async () => {
  const extensions = [{ uri: resumeExtension, required: true }];
  const card = { name: "Strict", description: "Wants ids", version: "1", extensions };
  await using served = await startAgent("GRPC", { agent: threeEvents, card });
  await expect(itemsOf(served.transport.sendStreamingMessage(say("x"), {}))).rejects.toMatchObject({
    code: "extensionSupportRequired",
  });
  expect(await linesOf(served.transport.sendStreamingMessage(say("x"), marked))).toHaveLength(5);
});
