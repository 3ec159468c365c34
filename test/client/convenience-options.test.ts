import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import type { ClientInterceptor } from "../../src/client/options.js";
import { emptyTask } from "../../src/protocol/fold.js";
import { serviceOf, statusItem } from "../support/echo-service.js";
import { grpcAgent } from "../support/grpc-agent.js";
import { httpAgent } from "../support/http-agent.js";
import { itemsOf } from "../support/items.js";
import { taskEvent } from "./stream/resuming-events.js";
import { cardOf, interfaceAt } from "./support/cards.js";
import { result, rpcServer } from "./support/rpc-server.js";

const task = result({ id: "x", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } });

describe("the tenant of an interface", () => {
  it("the tenant of an interface is added to every request without one", async () => {
    await using server = await rpcServer(task);
    const card = cardOf([interfaceAt("JSONRPC", server.url, { tenant: "t1" })]);
    await using client = await Client.connect(card);
    await client.getTask({ id: "x" });
    await client.getTask({ id: "x", tenant: "t2" });
    await client.send("go").catch(() => {});
    await itemsOf(client.subscribeToTask({ id: "x" })).catch(() => {});
    expect(server.requests.slice(0, 4).map(({ params }) => params["tenant"])).toEqual(["t1", "t2", "t1", "t1"]);
  });
});

describe("headers", () => {
  it("headers of the client go with every call, and those of a call override them", async () => {
    await using server = await rpcServer(task);
    await using client = await Client.connect(server.card, { headers: { "X-Port": "1", "X-Pier": "a" } });
    await client.getTask({ id: "x" });
    await client.getTask({ id: "x" }, { headers: { "x-port": "2" } });
    expect(server.requests.map(({ headers }) => [headers["x-port"], headers["x-pier"]])).toEqual([
      ["1", "a"],
      ["2", "a"],
    ]);
  });
});

describe("the options of one of the eleven operations", () => {
  it.each<[object, string]>([
    [{ timeoutMS: 5 }, "the options of a call: timeoutMS cannot be given: did you mean timeoutMs?"],
    [{ tenant: "t" }, "the options of a call: tenant cannot be given: write it in the request"],
    [{ headers: { "x-port": 1 } }, 'headers["x-port"] must be a string, not a value of type number'],
    [{ signal: new AbortController() }, "signal must be an AbortSignal, not an object without addEventListener"],
  ])("options of an operation that do not exist are refused before anything is sent: %j", async (options, message) => {
    await using server = await rpcServer(task);
    await using client = await Client.connect(server.card);
    await expect(client.getTask({ id: "x" }, options)).rejects.toThrow(message);
    expect(() => client.subscribeToTask({ id: "x" }, options)).toThrow(TypeError);
    expect(server.requests).toEqual([]);
    const { signal } = new AbortController();
    const all = { signal, timeoutMs: 5000, headers: {}, query: {}, extensions: [], after: undefined };
    await client.getTask({ id: "x" }, all);
    expect(server.requests).toHaveLength(1);
  });
});

describe("extensions", () => {
  it("extensions of the client and of a call are activated together, each once", async () => {
    await using server = await rpcServer(task);
    await using client = await Client.connect(server.card, { extensions: ["urn:a", "urn:b"] });
    await client.getTask({ id: "x" });
    await client.getTask({ id: "x" }, { extensions: ["urn:b", "urn:c"] });
    expect(server.requests.map(({ headers }) => headers["a2a-extensions"])).toEqual([
      "urn:a,urn:b",
      "urn:a,urn:b,urn:c",
    ]);
  });

  const resume = "urn:trivium:extension:resume:v1";
  it.each([
    ["GRPC", [[], [resume]]],
    ["JSONRPC", [[], []]],
  ] as const)(
    "extensions number the events of streams where a binding has no other way: %s",
    async (binding, expected) => {
      const extensionLists: (readonly string[])[] = [];
      const service = serviceOf(
        {
          async *subscribeToTask() {
            yield { response: taskEvent(emptyTask("t", "c")), id: "1" };
            yield statusItem(2, 3);
          },
        },
        {
          extensions(requested) {
            extensionLists.push(requested);
            return requested;
          },
        },
      );
      await using agent = binding === "GRPC" ? await grpcAgent(service) : await httpAgent(service);
      const card = cardOf([interfaceAt(binding, `http://127.0.0.1:${agent.port}`)], {
        capabilities: { streaming: true, extensions: [{ uri: resume }] },
      });
      await using client = await Client.connect(card);
      await client.getTask({ id: "x" }).catch(() => {});
      await itemsOf(client.subscribeToTask({ id: "t" }));
      expect(extensionLists.slice(0, 2)).toEqual(expected);
    },
  );
});

describe("interceptors", () => {
  it("interceptors wrap every call, the first one outermost, and may change it", async () => {
    await using server = await rpcServer(task);
    const order: string[] = [];
    const named =
      (name: string): ClientInterceptor =>
      async (call, next) => {
        order.push(`${name} ${call.operation}`);
        const headers = { ...call.context.headers, [`x-${name}`]: "1" };
        return next({ ...call, context: { ...call.context, headers } });
      };
    await using client = await Client.connect(server.card, { interceptors: [named("outer"), named("inner")] });
    await client.getTask({ id: "x" });
    await itemsOf(client.subscribeToTask({ id: "x" })).catch(() => {});
    expect(order.slice(0, 4)).toEqual([
      "outer getTask",
      "inner getTask",
      "outer subscribeToTask",
      "inner subscribeToTask",
    ]);
    expect(server.requests[0]?.headers).toMatchObject({ "x-outer": "1", "x-inner": "1" });
  });

  it("interceptors may answer in the agent's place", async () => {
    await using server = await rpcServer(task);
    const refusing: ClientInterceptor = () => Promise.reject(new Error("not from here"));
    await using client = await Client.connect(server.card, { interceptors: [refusing] });
    await expect(client.send("go")).rejects.toThrow("not from here");
    expect(server.requests).toEqual([]);
  });
});
