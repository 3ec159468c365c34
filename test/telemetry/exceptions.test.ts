import { context, metrics, propagation, trace } from "@opentelemetry/api";
import { NodeSDK, tracing } from "@opentelemetry/sdk-node";
import { A2AError, type Agent, type TelemetryOptions } from "trivium";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { serve } from "../../src/server/serve.js";
import { openTelemetry } from "../../src/telemetry/telemetry.js";

// What spans say about errors whose messages hold texts of callers.

const withoutSdk = await openTelemetry({ exceptions: "type" });

const exporter = new tracing.InMemorySpanExporter();
const sdk = new NodeSDK({
  serviceName: "test",
  autoDetectResources: false,
  metricReaders: [],
  spanProcessors: [new tracing.SimpleSpanProcessor(exporter)],
});
beforeAll(() => sdk.start());
beforeEach(() => exporter.reset());
afterAll(async () => {
  await sdk.shutdown();
  for (const api of [trace, metrics, context, propagation]) api.disable();
});

/** A name and a birth date of a caller, which no trace should have. */
const secret = "Ada Lovelace, 10 December 1815";

class PatientError extends Error {
  override readonly name = "PatientError";
}

const fails: Agent = async ({ text }) => {
  throw new PatientError(`no record of ${text}`, { cause: new Error(text) });
};
const refuses: Agent = async ({ text }) => {
  throw new A2AError("unavailable", `no room for ${text}`);
};
const asks: Agent = async ({ text, client }) => {
  await client("/refuses").send(text);
};

/** Everything that the SDK would export, after a send to each agent. */
async function exported(telemetry: TelemetryOptions | undefined): Promise<string> {
  const agents = Object.entries({ fails, refuses, asks }).map(([name, agent]) => [
    `/${name}`,
    { card: { name, description: "d", version: "1" }, agent },
  ]);
  {
    await using server = await serve({ agents: Object.fromEntries(agents), port: 0, logger: false, telemetry });
    for (const path of ["/fails", "/refuses", "/asks"]) {
      const options = { retry: false, ...(telemetry && { telemetry: { exceptions: telemetry.exceptions } }) } as const;
      await using client = await Client.connect(`${server.url}${path}`, options);
      await client.send(secret).catch(() => {});
      await client.stream(secret).answer.catch(() => {});
    }
  }
  return JSON.stringify(
    exporter.getFinishedSpans().map(({ name, attributes, events, status, links }) => ({
      ...{ name, attributes, events, status, links },
    })),
  );
}

describe("spans of failures", () => {
  it("spans of failures have types, messages and stacks of errors", async () => {
    const text = await exported(undefined);
    expect(text).toContain(`"exception.message":"no record of ${secret}"`);
    expect(text).toContain('"exception.stacktrace"');
    expect(text).toContain(`no room for ${secret}`);
  });

  it('spans of failures have types alone with `exceptions: "type"`, those of calls that agents make, too', async () => {
    const text = await exported({ exceptions: "type" });
    expect(text).toContain('"exception.type":"PatientError"');
    for (const word of ["Ada", "1815", "exception.message", "exception.stacktrace"]) expect(text).not.toContain(word);
    // Calls and turns still say that they have failed, and how.
    expect(text).toContain('"status":{"code":2');
    expect(text).toContain('"error.type":"unavailable"');
  });
});

it("an option about exceptions turns no telemetry on", () => {
  expect(withoutSdk).toBeUndefined();
});

it("an option about exceptions is one of two words", async () => {
  const card = { name: "A", description: "d", version: "1" };
  const telemetry = { exceptions: "none" } as unknown as TelemetryOptions;
  const message = /telemetry\.exceptions must be .*"full" or "type"/;
  await expect(serve({ card, agent: refuses, port: 0, telemetry })).rejects.toThrow(message);
  await expect(Client.connect("http://127.0.0.1:9", { telemetry })).rejects.toThrow(message);
});
