import type { JsonObject } from "@bufbuild/protobuf";
import type { Server } from "trivium";
import { expect, it } from "vitest";
import { completed } from "../../../src/protocol/events.js";
import { frame, rawSession } from "../../support/grpc-raw.js";
import { postJson, rawCall } from "../../support/http-agent.js";
import { startAgent } from "../../support/serve-agent.js";

// The card as a 0.3 client reads it, and raw calls to the interfaces it lists.

interface Place {
  readonly url: string;
  readonly transport: string;
}

async function cardOf({ url }: Server): Promise<JsonObject & { readonly additionalInterfaces: readonly Place[] }> {
  const answer = await rawCall(`${url}/.well-known/agent-card.json`, { method: "GET" });
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json"]);
  return JSON.parse(answer.text);
}

/** The response of each transport to a request for an unknown task. */
const missing: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  async JSONRPC(url) {
    const call = { jsonrpc: "2.0", id: 1, method: "tasks/get", params: { id: "none" } };
    return JSON.parse((await postJson(url, call)).text).error.code;
  },
  "HTTP+JSON": async (url) => JSON.parse((await rawCall(`${url}/v1/tasks/none`, { method: "GET" })).text).code,
  async GRPC(url) {
    using session = rawSession(Number(/:(\d+)$/.exec(url)?.[1]));
    const name = Buffer.from("tasks/none");
    const request = frame(Buffer.concat([Buffer.from([0x0a, name.length]), name]));
    return (await session.call("GetTask", request, { ":path": "/a2a.v1.A2AService/GetTask" })).status;
  },
};
const codes: Readonly<Record<string, unknown>> = { JSONRPC: -32001, "HTTP+JSON": -32001, GRPC: 5 };

const agent = async () => completed();

// Requirements: V03-CARD-1, V03-CARD-4, V03-CARD-5, V03-CARD-6, V03-CARD-7, V03-CARD-8, V03-CARD-11, V03-DISC-1
// Requirements: V03-TASK-3
it("every place in the 0.3 card answers in the transport that it names, the main one as well", async () => {
  await using served = await startAgent("JSONRPC", { agent });
  const { url, preferredTransport, additionalInterfaces } = await cardOf(served.server);
  expect(additionalInterfaces).toContainEqual({ url, transport: preferredTransport });
  expect(additionalInterfaces.map(({ transport }) => transport)).toEqual(["JSONRPC", "GRPC", "HTTP+JSON"]);
  expect(new Set(additionalInterfaces.map((place) => place.url)).size).toBe(3);
  for (const place of additionalInterfaces) {
    expect([place.transport, await missing[place.transport]?.(place.url)]).toEqual([
      place.transport,
      codes[place.transport],
    ]);
  }
});

// Requirements: V03-CARD-2, V03-CARD-3, V03-CARD-12
it("the 0.3 card has every member that 0.3 requires, whatever its author has left out", async () => {
  const skills = [{ id: "s", name: "Skill", description: "Does it", tags: ["t"] }];
  const card = { name: "Short", description: "Says little", version: "1", skills };
  await using served = await startAgent("JSONRPC", { agent, card });
  expect(await cardOf(served.server)).toMatchObject({
    ...{ protocolVersion: "0.3.0", name: "Short", description: "Says little", version: "1" },
    ...{ url: expect.stringMatching(/^http/), preferredTransport: "JSONRPC", capabilities: expect.any(Object) },
    ...{ defaultInputModes: expect.any(Array), defaultOutputModes: expect.any(Array), skills },
  });
});

// Requirements: V03-TRANS-2
it("the 0.3 card of an agent of one transport names that one, as the main one too", async () => {
  await using served = await startAgent("HTTP+JSON", { agent, bindings: ["HTTP+JSON"] });
  const card = await cardOf(served.server);
  expect(card).toMatchObject({ preferredTransport: "HTTP+JSON", url: `${served.server.url}/http-json` });
  expect(card.additionalInterfaces.map(({ transport }) => transport)).toEqual(["HTTP+JSON"]);
});
