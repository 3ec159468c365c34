import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OtlpReceiver, receiveOtlp } from "../support/otlp-receiver.js";
import { execute } from "../support/owned.js";
import { treeOf } from "../support/span-tree.js";

// The built package in a process of its own, beside the instrumentations that a program would use.

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

let receiver: OtlpReceiver;
beforeAll(async () => {
  receiver = await receiveOtlp();
});
afterAll(() => receiver[Symbol.asyncDispose]());

async function trace(binding: string): Promise<readonly string[]> {
  const env = { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_METRICS_EXPORTER: "none" };
  const program = ["--import", here("instrumented-sdk.ts"), here("instrumented-agents.ts"), binding];
  const { stdout } = await execute(process.execPath, program, { env });
  const { text, traceId } = JSON.parse(stdout) as { readonly text: string; readonly traceId: string };
  expect(text).toBe("from B");
  return treeOf(receiver.spans, traceId);
}

describe("beside instrumentation of HTTP, undici and gRPC", () => {
  it.each([
    { binding: "JSONRPC", listener: "SERVER POST" },
    { binding: "HTTP+JSON", listener: "SERVER POST" },
    { binding: "CONNECT", listener: "SERVER POST" },
  ])("a call has one span on each side, below that of the listener, over $binding", async ({ binding, listener }) => {
    expect(await trace(binding)).toEqual([
      "INTERNAL test",
      "  CLIENT SendMessage",
      `    ${listener}`,
      "      SERVER SendMessage",
      "        INTERNAL invoke_agent A",
      "          CLIENT SendMessage",
      `            ${listener}`,
      "              SERVER SendMessage",
      "                INTERNAL invoke_agent B",
    ]);
  });

  it("a call over gRPC, which has no span of another instrumentation, has one on each side", async () => {
    expect(await trace("GRPC")).toEqual([
      "INTERNAL test",
      "  CLIENT SendMessage",
      "    SERVER SendMessage",
      "      INTERNAL invoke_agent A",
      "        CLIENT SendMessage",
      "          SERVER SendMessage",
      "            INTERNAL invoke_agent B",
    ]);
  });
});
