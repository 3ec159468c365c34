import { type DescFile, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type DescriptorProto, type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Server } from "@grpc/grpc-js";
import { file_google_rpc_error_details } from "../../../gen/google/rpc/error_details_pb.js";
import type { GrpcAdapter } from "../../version/codec.js";
import { asBuffer } from "./method.js";

/**
 * Adds `grpc.reflection.v1` and `v1alpha`. With it, tools list, describe and call the services without the proto files,
 * and read error details.
 */
export async function addReflection(server: Server, adapters: readonly GrpcAdapter[]): Promise<void> {
  const [{ ReflectionService }, health, schemas] = await Promise.all([
    import("@grpc/reflection"),
    healthFiles(),
    Promise.all(adapters.map(({ service }) => fullFiles.get(service.typeName)?.() ?? service.file)),
  ]);
  const files = new Map<string, FileDescriptorProto>();
  for (const schema of schemas) collect(schema, files);
  collect(file_google_rpc_error_details, files);
  const fileDescriptorProtos = [...files.values(), ...health].map((file) =>
    asBuffer(toBinary(FileDescriptorProtoSchema, file)),
  );
  // The package reads only the files, from any definition that has some.
  const all = { format: "Protocol Buffer 3 EnumDescriptorProto" as const, type: {}, fileDescriptorProtos };
  new ReflectionService({ all }).addToServer(server);
}

// The services are built from outlines, which omit what only readers of a schema need.
const fullFiles: ReadonlyMap<string, () => Promise<DescFile>> = new Map([
  ["lf.a2a.v1.A2AService", async () => (await import("../../../gen/lf/a2a/v1/a2a_pb.js")).file_lf_a2a_v1_a2a],
  ["a2a.v1.A2AService", async () => (await import("../../../gen/a2a/v1/a2a_pb.js")).file_a2a_v1_a2a],
]);

/** Adds a file and all its imports. */
function collect(file: DescFile, files: Map<string, FileDescriptorProto>): void {
  if (files.has(file.name)) return;
  files.set(file.name, file.proto);
  for (const dependency of file.dependencies) collect(dependency, files);
}

async function healthFiles(): Promise<readonly FileDescriptorProto[]> {
  const { service } = await import("grpc-health-check");
  const files = service["Check"]?.requestType.fileDescriptorProtos ?? [];
  return files.map((bytes) => {
    const file = fromBinary(FileDescriptorProtoSchema, bytes);
    for (const message of file.messageType) repair(message, `.${file.package}`);
    return file;
  });
}

/**
 * Repairs the files of `grpc-health-check`, which strict readers refuse: relative type names, and map entries without
 * "Entry".
 */
function repair(message: DescriptorProto, scope: string): void {
  const inside = new Map(message.enumType.map(({ name }) => [name, `${message.name}.${name}`]));
  for (const nestedType of message.nestedType) {
    const name = nestedType.options?.mapEntry === true ? `${nestedType.name}Entry` : nestedType.name;
    inside.set(nestedType.name, `${message.name}.${name}`);
    nestedType.name = name;
    repair(nestedType, scope);
  }
  for (const field of message.field) {
    const { typeName } = field;
    if (typeName !== "" && !typeName.startsWith(".")) field.typeName = `${scope}.${inside.get(typeName) ?? typeName}`;
  }
}
