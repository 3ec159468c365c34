import { reply, type ServedAgentOptions, serve } from "trivium";
import { expect, it } from "vitest";
import { Client } from "../../../src/client/node.js";

// A gRPC call names its agent in the request, which is read after the headers. The limits of that agent hold all the same.

const card = { name: "Weather", description: "Says whether it rains", version: "1.0.0" };

function served(rate: ServedAgentOptions["rate"]) {
  return serve({
    port: 0,
    logger: false,
    authenticate: ({ header }) => ({ owner: header("x-user") ?? "" }),
    agents: {
      "/weather": { card, agent: async () => reply("rain"), rate },
      "/free": { card, agent: async () => reply("free") },
    },
  });
}

it.each(["GRPC", "JSONRPC"] as const)("limits of an agent hold for its callers over %s", async (binding) => {
  const limits = {
    "rate.owner.requests": { owner: { requests: "2/day" } },
    "rate.address.requests": { address: { requests: "2/day" } },
    "rate.all.requests": { all: { requests: "2/day" } },
    "rate.operations.sendMessage.owner.requests": { operations: { sendMessage: { owner: { requests: "2/day" } } } },
  } as const;
  for (const [limit, rate] of Object.entries(limits)) {
    await using server = await served(rate);
    const options = { prefer: [binding], retry: false, headers: { "x-user": "ann" }, grpcTls: false } as const;
    await using client = await Client.connect(`${server.url}/weather`, options);
    const outcomes: string[] = [];
    let refused: unknown;
    for (let call = 0; call < 4; call++) {
      const outcome = await client.send("go").then(
        ({ text }) => text,
        (error: unknown) => error,
      );
      outcomes.push(typeof outcome === "string" ? outcome : "refused");
      if (typeof outcome !== "string") refused = outcome;
    }
    expect(client.connection?.binding, limit).toBe(binding);
    expect(outcomes.slice(-2), limit).toEqual(["refused", "refused"]);
    expect(outcomes[0], limit).toBe("rain");
    expect(refused, limit).toMatchObject({ code: "resourceExhausted", metadata: { limit } });
  }
});
