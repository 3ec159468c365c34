// Calls an agent that calls another one over a binding, and prints the id of the trace.
import { context, trace } from "@opentelemetry/api";
import { type Agent, type Binding, Client, reply, serve } from "trivium";

const [binding = "JSONRPC"] = process.argv.slice(2) as Binding[];
const served = (name: string, agent: Agent) =>
  serve({
    ...{ card: { name, description: "d", version: "1" }, agent, port: 0, logger: false },
    bindings: ["JSONRPC", "GRPC", "HTTP+JSON", "CONNECT"],
  });

const b = await served("B", async () => reply("from B"));
const next = await Client.connect(b.url, { prefer: [binding] });
const a = await served("A", async ({ text }) => reply((await next.send(text)).text));
const client = await Client.connect(a.url, { prefer: [binding] });
// The probes of new interfaces are not a part of the trace.
await client.send("first");
const root = trace.getTracer("test").startSpan("test");
const answer = await context.with(trace.setSpan(context.active(), root), () => client.send("hello"));
root.end();
for (const open of [client, a, next, b]) await open.close();
process.stdout.write(`${JSON.stringify({ text: answer.text, traceId: root.spanContext().traceId })}\n`);
