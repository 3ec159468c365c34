import { type Agent, Client, working } from "trivium";
import { expect, it } from "vitest";
import { connectTo } from "../../src/testing/index.js";
import { recordingLogger } from "../support/recording-logger.js";

const card = {
  name: "Away",
  description: "Does not listen",
  supportedInterfaces: [{ url: "http://127.0.0.1:1/json-rpc", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  version: "1",
};

const asking: Agent = async function* ({ text }) {
  if (text === "late") yield working("asking");
  await using other = await Client.connect(card, { retry: false });
  await other.send("hello");
};

it("an agent that cannot reach another one is unavailable, and where that one is stays in the log", async () => {
  const { logger, log } = recordingLogger();
  await using client = await connectTo(asking, { logger, client: { retry: false } });
  const error = await client.send("early").catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/^an agent .+\(reference \S+\)$/),
  });
  const answer = await client.send("late");
  expect([answer.state, answer.text]).toEqual(["failed", expect.stringMatching(/^an agent .+\(reference \S+\)$/)]);
  expect(`${error} ${answer.text}`).not.toContain("127.0.0.1");
  const logged = log.filter(({ message }) => message === "an agent that this one calls did not answer");
  expect(logged.map(({ fields }) => String(Reflect.get(fields, "err")))).toEqual([
    expect.stringContaining("127.0.0.1:1"),
    expect.stringContaining("127.0.0.1:1"),
  ]);
  expect(answer.text).toContain(String(Reflect.get(logged[1]?.fields ?? {}, "reference")));
});
