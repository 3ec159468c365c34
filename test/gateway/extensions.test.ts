import { artifact, type Turn } from "trivium";
import { describe, expect, it } from "vitest";
import { createGrpcTransport } from "../../src/binding/grpc/client.js";
import { createHttpJsonTransport } from "../../src/binding/http-json/client.js";
import { createJsonRpcTransport } from "../../src/binding/json-rpc/client.js";
import type { Transport } from "../../src/binding/transport.js";
import { idempotentSendExtension, readEventId, resumeExtension } from "../../src/protocol/extensions.js";
import { adapter } from "../support/grpc-agent.js";
import { httpAdapter, rpcAdapter } from "../support/http-agent.js";
import { itemsOf } from "../support/items.js";
import { errorOf, say, taskOf } from "../support/say.js";
import { bindings, type Scene, startScene } from "./scene.js";

const listed = "urn:example:listed";

/** The bare client transports, which show what is on the wire. */
const bareEnds: readonly [name: string, open: (scene: Scene) => Transport][] = [
  ["JSONRPC", ({ gateway }) => createJsonRpcTransport({ url: `${gateway.url}/json-rpc`, adapter: rpcAdapter })],
  ["HTTP+JSON", ({ gateway }) => createHttpJsonTransport({ url: `${gateway.url}/http-json`, adapter: httpAdapter })],
  ["GRPC", ({ gateway }) => createGrpcTransport({ address: `127.0.0.1:${gateway.grpcPort}`, adapter })],
];

describe.each(["JSONRPC", "HTTP+JSON", "GRPC"] as const)("in front of %s", (spoken) => {
  it.each(bareEnds)(
    "events through a gateway carry their ids over %s when the extension is activated, and else not",
    async (_, open) => {
      await using scene = await startScene({ behind: { bindings: [spoken] } });
      const bare = open(scene);
      const marked = await itemsOf(bare.sendStreamingMessage(say("chunks"), { extensions: [resumeExtension] }));
      expect(marked.map(({ response }) => readEventId(response))).toEqual(Array(6).fill(expect.any(String)));
      const plain = await itemsOf(bare.sendStreamingMessage(say("chunks"), {}));
      expect(plain.map(({ response }) => readEventId(response))).toEqual(Array(6).fill(undefined));
      await bare.close?.();
    },
  );

  it.each(bindings)(
    "an extension that the agent lists is active for it through a gateway over %s, and another one is not",
    async (binding) => {
      const active: (readonly string[])[] = [];
      await using scene = await startScene({
        agent: async function* ({ extensions }: Turn) {
          active.push(extensions.filter((uri) => uri !== idempotentSendExtension));
          yield artifact("done");
        },
        behind: {
          bindings: [spoken],
          card: {
            name: "Behind",
            description: "Extended",
            version: "1",
            extensions: [{ uri: listed, description: "of its own" }],
          },
        },
      });
      const { operations } = await scene.over(binding, { extensions: [listed, "urn:example:other"] });
      await operations.sendMessage(say("go"), {});
      const { operations: plain } = await scene.over(binding);
      await plain.sendMessage(say("go"), {});
      expect(active).toEqual([[listed], []]);
    },
  );

  it("a gateway itself requires the extensions that the agent requires", async () => {
    const extensions = [{ uri: listed, description: "of its own", required: true }];
    const card = { name: "Behind", description: "Strict", version: "1", extensions };
    await using scene = await startScene({ behind: { bindings: [spoken], card } });
    const { operations } = await scene.over("HTTP+JSON");
    const refused = await errorOf(operations.sendMessage(say("echo hi"), {}));
    expect(refused).toMatchObject({ code: "extensionSupportRequired", metadata: { uri: listed } });
    const answer = await operations.sendMessage(say("echo hi"), { extensions: [listed] });
    expect(taskOf(answer).id).not.toBe("");
  });

  it("a message sent twice through a gateway starts the agent once", async () => {
    let turns = 0;
    await using scene = await startScene({
      agent: async function* () {
        turns++;
        yield artifact("done");
      },
      behind: { bindings: [spoken] },
    });
    const { operations } = await scene.over("JSONRPC");
    const request = say("go", { messageId: "only-once" });
    const extensions = [idempotentSendExtension];
    const [one, other] = [
      taskOf(await operations.sendMessage(request, { extensions })),
      taskOf(await operations.sendMessage(request, { extensions })),
    ];
    expect([one.id === other.id, turns]).toEqual([true, 1]);
  });
});
