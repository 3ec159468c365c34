import { once } from "node:events";
import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import { serviceOf } from "../../support/echo-service.js";
import { grpcAgent } from "../../support/grpc-agent.js";
import { frame, rawSession } from "../../support/grpc-raw.js";

const check = "/grpc.health.v1.Health/Check";

/** A message with one string field. */
const text = (field: number, value: string): Buffer =>
  Buffer.concat([Buffer.from([field * 8 + 2, value.length]), Buffer.from(value)]);

it.each([
  ["", "0801"],
  ["lf.a2a.v1.A2AService", "0801"],
])("the health service reports %j as serving until it is set to not serving", async (name, serving) => {
  await using agent = await grpcAgent(serviceOf({}));
  using raw = rawSession(agent.port);
  const ask = () => raw.call("", frame(name === "" ? Buffer.alloc(0) : text(1, name)), { ":path": check });
  expect((await ask()).body.subarray(5).toString("hex")).toBe(serving);
  agent.grpc.setServing(false);
  expect((await ask()).body.subarray(5).toString("hex")).toBe("0802");
});

it("the health service answers not found for an unknown service", async () => {
  await using agent = await grpcAgent(serviceOf({}));
  using raw = rawSession(agent.port);
  expect((await raw.call("", frame(text(1, "no.Such")), { ":path": check })).status).toBe(5);
});

it("the health service starts as not serving when set so before the first check", async () => {
  await using agent = await grpcAgent(serviceOf({}));
  agent.grpc.setServing(false);
  using raw = rawSession(agent.port);
  expect((await raw.call("", frame(Buffer.alloc(0)), { ":path": check })).body.subarray(5).toString("hex")).toBe(
    "0802",
  );
});

it("the health service needs no credentials for a check", async () => {
  await using agent = await grpcAgent(
    serviceOf(
      {},
      {
        authenticate: () => {
          throw new Error("asked");
        },
      },
    ),
  );
  using raw = rawSession(agent.port);
  expect((await raw.call("", frame(Buffer.alloc(0)), { ":path": check })).status).toBe(0);
});

it.each([check, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"])(
  "the gRPC server refuses a message of more than 4 KiB to %s before it is whole",
  async (path) => {
    await using agent = await grpcAgent(serviceOf({}));
    using raw = rawSession(agent.port);
    const { stream, answer: ended } = raw.open("", { ":path": path });
    stream.write(frame(Buffer.alloc(4097)).subarray(0, -1));
    expect(await ended).toMatchObject({ status: 8 });
  },
);

it.each(["v1", "v1alpha"])("the gRPC server lists and describes its services by reflection %s", async (version) => {
  await using agent = await grpcAgent(serviceOf({}));
  using raw = rawSession(agent.port);
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
  const ask = async (question: Buffer) => (await raw.call("", frame(question), { ":path": path })).body.subarray(5);
  const list = (await ask(text(7, "*"))).toString("latin1");
  expect(list).toContain("lf.a2a.v1.A2AService");
  expect(list).toContain("grpc.health.v1.Health");
  const symbols = ["lf.a2a.v1.A2AService", "grpc.health.v1.Health", "google.rpc.ErrorInfo", "google.protobuf.Struct"];
  for (const symbol of symbols) {
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: await filesOf(symbol, ask) }));
    expect(registry.get(symbol)?.typeName).toBe(symbol);
  }
});

it("the gRPC server asks a caller of reflection for no more than it reads", async () => {
  await using agent = await grpcAgent(serviceOf({}));
  using raw = rawSession(agent.port);
  const { session } = raw;
  await once(session, "remoteSettings");
  const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  const { stream, answer } = raw.open("", { ":path": path });
  stream.pause();
  const question = frame(text(4, "grpc.health.v1.Health"));
  const count = 20_000;
  stream.end(Buffer.concat(Array.from({ length: count }, () => question)));
  // Each ping is a round trip; the window moves whenever the server takes something from the questions.
  for (let window: number | undefined, still = 0; still < 100 && !stream.writableFinished; still++) {
    await new Promise((resolve) => session.ping(resolve));
    const { remoteWindowSize } = session.state;
    if (remoteWindowSize !== window) still = 0;
    window = remoteWindowSize;
  }
  expect(stream.writableFinished).toBe(false);
  stream.resume();
  const { status, body } = await answer;
  const firstLength = 5 + body.readUInt32BE(1);
  expect([status, body.length]).toEqual([0, count * firstLength]);
});

type Ask = (question: Buffer) => Promise<Buffer>;

/** Requests the file of a symbol and everything it imports, as tools do. Imports come first. */
async function filesOf(symbol: string, ask: Ask): Promise<FileDescriptorProto[]> {
  const files = new Map<string, FileDescriptorProto>();
  const learn = async (question: Buffer): Promise<FileDescriptorProto | undefined> => {
    const [first] = fields(await ask(question), 4).flatMap((list) => fields(list, 1));
    return first === undefined ? undefined : fromBinary(FileDescriptorProtoSchema, first);
  };
  const take = async (file: FileDescriptorProto | undefined): Promise<void> => {
    if (file === undefined || files.has(file.name)) return;
    for (const name of file.dependency) if (!files.has(name)) await take(await learn(text(3, name)));
    files.set(file.name, file);
  };
  await take(await learn(text(4, symbol)));
  return [...files.values()];
}

/** Returns the values of one field of a message. */
function fields(message: Uint8Array, number: number): Uint8Array[] {
  const reader = new BinaryReader(message);
  const values: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === number) values.push(reader.bytes());
    else reader.skip(type, field);
  }
  return values;
}
