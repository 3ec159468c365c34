import { type AgentOptions, Client, createAgent, gateway, reply, serve } from "trivium";
import { describe, expect, it } from "vitest";
import { bindingNames } from "../../src/protocol/bindings.js";

const card = { name: "Named", description: "Says over which binding it was called", version: "1" };

/** The principal of a caller is the binding it used. */
const options: AgentOptions = {
  card,
  authenticate: ({ binding }) => ({ owner: binding }),
  async *agent({ principal }) {
    yield reply(principal.owner);
  },
};

/** Unchecked names, as JavaScript callers pass them. */
const unchecked = (names: readonly string[]): Pick<AgentOptions, "bindings"> =>
  JSON.parse(JSON.stringify({ bindings: names }));

describe("the names of bindings", () => {
  it.each(["json-rpc", "http-json", "grpc", "connect", "REST", ""])(
    "fail at startup when unknown: %j",
    async (name) => {
      const bindings = unchecked(["GRPC", name]);
      const message = `bindings[1] must be "JSONRPC" or "GRPC" or "HTTP+JSON" or "CONNECT", not ${JSON.stringify(name)}`;
      await expect(serve({ ...options, ...bindings, port: 0 })).rejects.toThrow(message);
      await expect(createAgent({ ...options, ...bindings })).rejects.toThrow(message);
    },
  );

  it("fail at startup of a gateway when unknown", async () => {
    await using upstream = await serve({ ...options, port: 0, drainMs: 0 });
    const started = gateway({ upstream: upstream.url, ...unchecked(["http-json"]), port: 0 });
    await expect(started).rejects.toThrow(
      'bindings[0] must be "JSONRPC" or "GRPC" or "HTTP+JSON" or "CONNECT", not "http-json"',
    );
  });

  it.each(bindingNames)("are the same for options, preference, report and caller: %s", async (binding) => {
    await using server = await serve({ ...options, bindings: bindingNames, port: 0, drainMs: 0 });
    await using client = await Client.connect(server.url, { prefer: [binding], grpcTls: false });
    expect(await client.send("hello")).toMatchObject({ text: binding, state: "message" });
    expect(client.connection?.binding).toBe(binding);
    expect(client.connection?.listedAs).toBeUndefined();
  });

  it("identify the binding that a custom transport replaces", async () => {
    await using server = await serve({ ...options, bindings: ["CONNECT"], versions: ["1.0"], port: 0, drainMs: 0 });
    const own = server.inProcess({ principal: { owner: "own" } });
    const transports = [{ binding: "CONNECT", create: () => own }];
    await using client = await Client.connect(server.url, { transports });
    expect(await client.send("hello")).toMatchObject({ text: "own", state: "message" });
  });
});
