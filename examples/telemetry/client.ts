// Reads the report as it is written, and prints the id of its trace.

import { trace } from "@opentelemetry/api";
import { Client } from "trivium";
import { sdk } from "./tracing.ts";

// Retries long enough for a server that you kill and restart by hand.
const limits = { streamBreaksMax: 30 };
const client = await Client.connect(process.argv[2] ?? "http://127.0.0.1:41241", { limits });
await trace.getTracer("client").startActiveSpan("read the report", async (span) => {
  console.log(`trace ${span.spanContext().traceId}`);
  for await (const delta of client.stream("Write the report.").text) process.stdout.write(delta);
  span.end();
});
await client.close();
// Exports the last spans. Without a collector nothing is lost but the trace.
await sdk.shutdown().catch((error: Error) => console.error(`spans were not exported: ${error.message}`));
