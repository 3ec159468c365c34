import { expect, it } from "vitest";
import { createJsonRpcTransport } from "../../../src/binding/json-rpc/client.js";
import type { Attempt } from "../../../src/client/interface-client.js";
import { ResumingStream } from "../../../src/client/stream/resuming-stream.js";
import { emptyTask } from "../../../src/protocol/fold.js";
import { findOperation, invokeStream, invokeUnary } from "../../../src/protocol/operations.js";
import { rpcAdapter } from "../../support/http-agent.js";
import { say } from "../../support/say.js";
import { type ForeignAgent, foreignAgent, hasty } from "./resuming-agent.js";
import { chunk, type LineReader, lineReaderOf, status, taskEvent } from "./resuming-events.js";

/** A stream without retries, from an agent that may number its events. */
function streamOf({ port }: ForeignAgent, numbers: boolean): LineReader {
  const transport = createJsonRpcTransport({ url: `http://127.0.0.1:${port}/json-rpc`, adapter: rpcAdapter });
  const attempt: Attempt = {
    unary: (operation, request, options) => invokeUnary(transport, operation, request, options),
    async open(operation, request, options) {
      const rest = invokeStream(transport, operation, request, options)[Symbol.asyncIterator]();
      return { first: await rest.next(), rest };
    },
  };
  const call = { operation: findOperation("sendStreamingMessage"), request: say("go"), options: {} };
  return lineReaderOf(
    new ResumingStream({ attempt, clock: hasty, streaming: true, maxBreaks: 5, pollMs: 1, numbers }, call),
  );
}

async function begin(agent: ForeignAgent, stream: LineReader): Promise<void> {
  const first = stream.next();
  await agent.opened(1);
  agent.emit(taskEvent(emptyTask("t", "c")), chunk("one ", false));
  await first;
  await stream.next();
}

let number = 0;
const ids = () => String(++number);

it("a stream does not resume by the ids of an agent that does not promise to resume", async () => {
  await using agent = await foreignAgent({ ids });
  const stream = streamOf(agent, false);
  await begin(agent, stream);
  agent.cut();
  await agent.opened(0);
  agent.emit(chunk("two"), status("COMPLETED"));
  expect(await stream.rest()).toEqual(['difference: artifact a "two" append', "difference: status COMPLETED"]);
});

it("a stream yields the whole task when an agent cannot resume from its id", async () => {
  await using agent = await foreignAgent({ ids });
  const stream = streamOf(agent, true);
  await begin(agent, stream);
  agent.cut();
  await agent.opened(0);
  agent.emit(chunk("two"));
  expect(await stream.next()).toBe("resync: task SUBMITTED");
  agent.emit(status("COMPLETED"));
  agent.endStreams();
  expect(await stream.rest()).toEqual(["status COMPLETED"]);
});

it("a stream ignores event ids when an agent sends them on only some events", async () => {
  let numbered = true;
  await using agent = await foreignAgent({ ids: () => (numbered ? String(++number) : undefined) });
  const stream = streamOf(agent, true);
  await begin(agent, stream);
  numbered = false;
  agent.emit(status("WORKING"));
  await stream.next();
  agent.cut();
  await agent.opened(0);
  agent.emit(chunk("two three"));
  expect(await stream.next()).toBe("resync: task WORKING");
  agent.cut();
  await agent.opened(0);
  agent.emit(chunk(" four"), status("COMPLETED"));
  expect(await stream.rest()).toEqual(['difference: artifact a " four" append', "difference: status COMPLETED"]);
});
