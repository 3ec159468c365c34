import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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
    "an unknown name of a binding fails at startup: %j",
    async (name) => {
      const bindings = unchecked(["GRPC", name]);
      const message = `bindings[1] must be "JSONRPC" or "GRPC" or "HTTP+JSON" or "CONNECT", not ${JSON.stringify(name)}`;
      await expect(serve({ ...options, ...bindings, port: 0 })).rejects.toThrow(message);
      await expect(createAgent({ ...options, ...bindings })).rejects.toThrow(message);
    },
  );

  it("an unknown name of a binding fails at the startup of a gateway", async () => {
    await using upstream = await serve({ ...options, port: 0, drainMs: 0 });
    const started = gateway({ upstream: upstream.url, ...unchecked(["http-json"]), port: 0 });
    await expect(started).rejects.toThrow(
      'bindings[0] must be "JSONRPC" or "GRPC" or "HTTP+JSON" or "CONNECT", not "http-json"',
    );
  });

  it.each(bindingNames)(
    "the name of a binding is the same in options, preference, report and caller: %s",
    async (binding) => {
      await using server = await serve({ ...options, bindings: bindingNames, port: 0, drainMs: 0 });
      await using client = await Client.connect(server.url, { prefer: [binding], grpcTls: false });
      expect(await client.send("hello")).toMatchObject({ text: binding, state: "message" });
      expect(client.connection?.binding).toBe(binding);
      expect(client.connection?.listedAs).toBeUndefined();
    },
  );

  it("the name of a binding identifies the one that a custom transport replaces", async () => {
    await using server = await serve({ ...options, bindings: ["CONNECT"], versions: ["1.0"], port: 0, drainMs: 0 });
    const own = server.inProcess({ principal: { owner: "own" } });
    const transports = [{ binding: "CONNECT", create: () => own }];
    await using client = await Client.connect(server.url, { transports });
    expect(await client.send("hello")).toMatchObject({ text: "own", state: "message" });
  });
});

/** The bindings that answer a call at a server, on its card or not, and gRPC-Web. */
async function answering(url: string): Promise<readonly string[]> {
  const everything = await serve({ ...options, bindings: bindingNames, port: 0, drainMs: 0, logger: false });
  const { supportedInterfaces } = everything.card;
  await everything.close();
  const { host } = new URL(url);
  const names: string[] = [];
  for (const listed of supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === "1.0")) {
    const there = listed.url.replace(/127\.0\.0\.1:\d+/, host);
    const card = { ...everything.card, supportedInterfaces: [{ ...listed, url: there }] };
    await using client = await Client.connect(card, { retry: false, grpcTls: false });
    const answered = await client.send("hello").then(
      ({ text }) => text,
      () => undefined,
    );
    if (answered !== undefined) names.push(answered);
  }
  const { status } = await fetch(`${url}/lf.a2a.v1.A2AService/GetTask`, {
    method: "POST",
    headers: { "content-type": "application/grpc-web+proto", "a2a-version": "1.0" },
    body: new Uint8Array(5),
  });
  return status === 404 ? names : [...names, "gRPC-Web"];
}

describe("the list of bindings", () => {
  const lists = [...bindingNames.map((name) => [name]), ["JSONRPC", "HTTP+JSON"], ["GRPC", "CONNECT"]].map((names) => ({
    names: names as typeof bindingNames,
  }));

  it.each(lists)(
    "a server, an agent of several, a mount and a gateway serve only the listed bindings: $names",
    async ({ names }) => {
      const only = { ...options, bindings: names, versions: ["1.0"], logger: false } as const;
      const expected = [...names, ...(names.includes("CONNECT") ? ["gRPC-Web"] : [])].sort();
      const reached = async (url: string) => (await answering(url)).toSorted();

      await using server = await serve({ ...only, port: 0, drainMs: 0 });
      expect(await reached(server.url)).toEqual(expected);
      const { agent, card, authenticate } = options;
      await using several = await serve({
        ...{ port: 0, drainMs: 0, logger: false, bindings: names, versions: ["1.0"], authenticate },
        agents: { "/": { card, agent } },
      });
      expect(await reached(several.url)).toEqual(expected);

      await using upstream = await serve({ ...options, port: 0, drainMs: 0, logger: false });
      await using before = await gateway({
        ...{ upstream: upstream.url, bindings: names, versions: ["1.0"] },
        ...{ port: 0, drainMs: 0, logger: false },
      });
      expect((await answering(before.url)).length).toBe(expected.length);

      // A mount answers plain HTTP requests alone.
      const mountable = expected.filter((name) => name !== "GRPC");
      if (mountable.length === 0) {
        await expect(createAgent(only)).rejects.toThrow("mounted on no binding");
        return;
      }
      const mounted = await createAgent(only);
      const app = createServer(mounted.nodeListener());
      await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
      const { port } = app.address() as AddressInfo;
      expect(await reached(`http://127.0.0.1:${port}`)).toEqual(mountable);
      app.close();
      await mounted.close();
    },
  );

  it("a server without a list of bindings answers Connect and gRPC-Web, and leaves them off the card", async () => {
    await using server = await serve({ ...options, port: 0, drainMs: 0, logger: false });
    const listed = new Set(server.card.supportedInterfaces.map(({ protocolBinding }) => protocolBinding));
    expect([...listed].toSorted()).toEqual(["GRPC", "HTTP+JSON", "JSONRPC"]);
    expect((await answering(server.url)).toSorted()).toEqual([...bindingNames, "gRPC-Web"].toSorted());
  });
});
