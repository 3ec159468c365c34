import { artifact, gateway, serve } from "trivium";

// An old agent: one binding of one old version. It may run anywhere.
const old = await serve({
  card: { name: "Tide table", description: "Knows when the water is high", version: "1.0.0" },
  port: 0,
  bindings: ["JSONRPC"],
  versions: ["0.2"],
  async *agent({ text }) {
    yield artifact(`High water in ${text} is at half past four.`);
  },
});

// The same agent over every binding and in every version.
const server = await gateway({ upstream: old.url });
console.log(`Tide table listens at ${server.url}`);
