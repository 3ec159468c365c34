import { type DescFile, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Server } from "@grpc/grpc-js";
import type { GrpcFace } from "../../version/codec.js";
import { asBuffer } from "./method.js";

/** `grpc.reflection.v1` and `v1alpha`, so that tools list and call us without our proto files. */
export async function addReflection(server: Server, faces: readonly GrpcFace[]): Promise<void> {
  const [{ ReflectionService }, { service: health }] = await Promise.all([
    import("@grpc/reflection"),
    import("grpc-health-check"),
  ]);
  const files = new Map<string, DescFile>();
  for (const { service } of faces) collect(service.file, files);
  const fileDescriptorProtos = [...files.values()].map((file) =>
    asBuffer(toBinary(FileDescriptorProtoSchema, file.proto)),
  );
  // The package reads nothing but the files, from whatever definition holds some.
  const ours = { format: "Protocol Buffer 3 EnumDescriptorProto" as const, type: {}, fileDescriptorProtos };
  const healthTypes = Object.fromEntries(Object.values(health).map((method) => [method.path, method.requestType]));
  new ReflectionService({ ours, ...healthTypes }).addToServer(server);
}

/** A file and everything that it imports. */
function collect(file: DescFile, files: Map<string, DescFile>): void {
  if (files.has(file.name)) return;
  files.set(file.name, file);
  for (const dependency of file.dependencies) collect(dependency, files);
}
