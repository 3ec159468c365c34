import { expect, it } from "vitest";
import { createGrpcTransport } from "../../../src/binding/grpc/client.js";
import type { Version } from "../../../src/version/codec.js";
import { v1 } from "../../../src/version/v1.0/v1.js";
import { connectAgent } from "../../support/connect-agent.js";
import { echo, serviceOf } from "../../support/echo-service.js";
import { adapter, grpcAgent } from "../../support/grpc-agent.js";
import { hello } from "../../support/requests.js";
import { errorOf } from "../../support/say.js";

// A later version that keeps the gRPC service of 1.0, and with it the paths of all calls.

const laterAdapter = { ...adapter, version: "1.9", isImplied: false, declares: "1.9" };
const later: Version = { ...v1, name: "1.9", grpc: laterAdapter };
const versions = [later, v1];

/** An agent of both versions that records the version of each call. */
function recordingAgent() {
  const calledVersions: string[] = [];
  const service = serviceOf(
    {
      sendMessage: async (request, context) => {
        calledVersions.push(context.version);
        return echo(request);
      },
    },
    { versions: versions.map(({ name }) => name) },
  );
  return { calledVersions, service };
}

it("a shared service takes a call over gRPC in the version that it declares, else in the newest one", async () => {
  const { calledVersions, service } = recordingAgent();
  await using agent = await grpcAgent(service, { versions });
  for (const declares of ["1.0", "1.9", undefined]) {
    const client = createGrpcTransport({ address: agent.address, adapter: { ...adapter, declares } });
    await client.sendMessage(hello, {});
    client.close();
  }
  expect(calledVersions).toEqual(["1.0", "1.9", "1.9"]);
});

it("a shared service refuses a declared version that neither of its versions is", async () => {
  const { calledVersions, service } = recordingAgent();
  await using agent = await grpcAgent(service, { versions });
  const client = createGrpcTransport({ address: agent.address, adapter: { ...adapter, declares: "1.5" } });
  expect((await errorOf(client.sendMessage(hello, {}))).code).toBe("versionNotSupported");
  client.close();
  expect(calledVersions).toEqual([]);
});

it.each(["connect json", "grpc-web binary"] as const)(
  "a shared service takes a call over %s in the version that it declares, else in the newest one",
  async (protocol) => {
    const { calledVersions, service } = recordingAgent();
    await using agent = await connectAgent(service, [laterAdapter, adapter]);
    const client = agent.client(protocol);
    for (const version of ["1.0", "1.9"]) await client.sendMessage(hello, { headers: { "a2a-version": version } });
    await client.sendMessage(hello, {});
    expect(calledVersions).toEqual(["1.0", "1.9", "1.9"]);
  },
);
