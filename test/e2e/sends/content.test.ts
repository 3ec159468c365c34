import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Agent,
  artifact,
  completed,
  data,
  dataOf,
  file,
  filesOf,
  inputRequired,
  reply,
  stateName,
  text,
  textOf,
  toJson,
} from "trivium";
import { sqliteStore } from "trivium/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { itemsOf } from "../../support/items.js";
import { errorOf, say, taskOf } from "../../support/say.js";
import { overEach, overEveryWire, startAgent } from "../../support/serve-agent.js";
import { errorOverWire, expectWrong, wiresOf, wiresThat } from "../../support/wires.js";

// What a message and an artifact hold, as the helpers read it on either side, and the headers that came with a call.

const booking = z.object({ berth: z.object({ draught: z.number() }) });
const bytes = new Uint8Array([1, 2, 250]);

overEveryWire((start) => {
  it("an agent reads data and files, and the caller reads those of the agent", async () => {
    const values: unknown[] = [];
    await using served = await start({
      async agent(turn) {
        values.push(turn.data(), turn.data(booking).berth.draught, turn.text);
        values.push(
          turn.files.map(({ name, mediaType, url }) => ({ name, mediaType, url })),
          turn.files[0]?.bytes(),
        );
        await turn.emit(artifact([data({ booked: [1, 2] }), file(bytes, { filename: "plan.bin" })]));
      },
    });
    const parts = [
      text("Book a berth."),
      data({ berth: { draught: 4.5 } }),
      file(bytes, { filename: "chart.bin", mediaType: "application/x-chart" }),
      file("https://x.example/chart.png"),
    ];
    const [result] = taskOf(await served.client.sendMessage(say(parts), {})).artifacts;
    expect(values).toEqual([
      { berth: { draught: 4.5 } },
      4.5,
      "Book a berth.",
      [
        { name: "chart.bin", mediaType: "application/x-chart", url: undefined },
        { name: undefined, mediaType: undefined, url: "https://x.example/chart.png" },
      ],
      bytes,
    ]);
    expect(dataOf(result)).toEqual({ booked: [1, 2] });
    const [plan] = filesOf(result);
    expect([plan?.name, plan?.bytes()]).toEqual(["plan.bin", bytes]);
  });

  it("an agent reads the headers of the call that started its turn", async () => {
    await using served = await start({
      agent: async ({ header }) => completed(`${header("X-User")} ${header("x-other")} ${header("Authorization")}`),
    });
    const headers = { "X-User": "alice", authorization: "Bearer secret" };
    const { status } = taskOf(await served.client.sendMessage(say("go"), { headers }));
    expect(textOf(status)).toBe("alice undefined Bearer secret");
    const stream = await itemsOf(served.client.sendStreamingMessage(say("go"), { headers: { "x-user": "carol" } }));
    expect(JSON.stringify(stream.map(({ response }) => toJson(response)))).toContain("carol undefined undefined");
  });
});

it("headers are not written to the store", async () => {
  const folder = await mkdtemp(join(tmpdir(), "trivium-headers-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "tasks.db");
  const store = sqliteStore({ path });
  const credentials: unknown[] = [];
  const agent: Agent = async ({ header }) => {
    credentials.push(header("authorization"));
    return inputRequired("which berth?");
  };
  const served = await startAgent("JSONRPC", { agent, store });
  const headers = { authorization: "Bearer s3cr3t-of-alice" };
  await served.client.sendMessage(say("a berth, please"), { headers });
  await served[Symbol.asyncDispose]();
  await store.close();
  const diskText = await readFile(path, "latin1");
  expect(credentials).toEqual(["Bearer s3cr3t-of-alice"]);
  expect(diskText).toContain("a berth, please");
  expect(diskText).not.toContain("s3cr3t-of-alice");
});

overEach(wiresThat("tell the agent's answer"), (start, wire) => {
  it("data that does not match the agent's schema is refused with the path of the field", async () => {
    await using served = await start({
      agent: async (turn) => completed(`${turn.data(booking).berth.draught} m`),
    });
    const error = await errorOf(
      served.client.sendMessage(say([text("Book."), data({ berth: { draught: "deep" } })]), {}),
    );
    expectWrong(wire, error, "message.parts[1].data.berth.draught");
    expect(await errorOf(served.client.sendMessage(say("Book."), {}))).toMatchObject(
      errorOverWire(wire, { code: "invalidParams", violations: [expect.objectContaining({ field: "message.parts" })] }),
    );
  });

  it("a URL where the agent needs bytes is refused with the path of the part", async () => {
    await using served = await start({ agent: async ({ files }) => reply(String(files[0]?.bytes().length)) });
    const error = await errorOf(served.client.sendMessage(say([file("https://x.example/a")]), {}));
    expect(error.code).toBe("invalidParams");
    expect(error.message).toMatch(/message\.parts\[0\] gives the URL of a file whose bytes are needed/);
  });
});

overEach(wiresOf("0.1"), (start) => {
  it("data that does not match the agent's schema fails the task, and its status names the path", async () => {
    await using served = await start({ agent: async (turn) => completed(`${turn.data(booking).berth.draught} m`) });
    const { status } = taskOf(await served.client.sendMessage(say([data({ berth: {} })]), {}));
    expect(stateName(status?.state)).toBe("failed");
    expect(textOf(status)).toMatch(/message\.parts\[0\]\.data\.berth\.draught does not match its schema/);
  });
});
