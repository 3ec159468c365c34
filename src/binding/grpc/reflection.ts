import { create, type DescExtension, type DescFile, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { A2AService as A2AServiceV03 } from "../../../gen/a2a/v1/a2a_names.js";
import { file_google_rpc_error_details } from "../../../gen/google/rpc/error_details_pb.js";
import { file_grpc_health_v1_health } from "../../../gen/grpc/health/v1/health_pb.js";
import {
  ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionResponseSchema,
} from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_names.js";
import type { GrpcAdapter } from "../../version/codec.js";
import { ServerCall } from "../server-call.js";
import type { AddressedService, Service } from "../service.js";
import { errorToStatus, type SentMetadata } from "./errors.js";
import { type OwnCall, type OwnMethods, ownMethod } from "./own-services.js";
import { createHeaderReader } from "./stream.js";

// Status codes of gRPC.
const invalidArgument = 3;
const notFound = 5;

/** The service is served under two names, with the same messages. */
const typeNames = [ServerReflection.typeName, "grpc.reflection.v1alpha.ServerReflection"];

type NestedType = ReturnType<typeof nestedTypes> extends Iterable<infer Type> ? Type : never;
type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>;

/**
 * Creates `grpc.reflection.v1` and `v1alpha`. With it, tools list, describe and call the services without the proto
 * files, and read error details. Callers need the same credentials as for other calls.
 */
export async function createReflection(
  adapters: readonly GrpcAdapter[],
  at: (authority: string) => AddressedService,
): Promise<OwnMethods> {
  const served = await Promise.all(adapters.map(({ service }) => fullFiles.get(service.typeName)?.() ?? service.file));
  const index = new SchemaIndex([...served, file_google_rpc_error_details, file_grpc_health_v1_health]);
  const method = ownMethod(ServerReflection.method.serverReflectionInfo, {
    refuse: (call) => refuseCaller(call, at(call.stream.authority).service),
    onMessage: (request, call) =>
      call.send(
        create(ServerReflectionResponseSchema, {
          validHost: request.host,
          originalRequest: request,
          messageResponse: index.answer(request.messageRequest),
        }),
      ),
    onHalfClose: (call) => call.end(),
  });
  return new Map(typeNames.map((name) => [`/${name}/ServerReflectionInfo`, method]));
}

/** Authenticates the caller, within the limits of its address. Returns the status of a refused call. */
async function refuseCaller({ opened, stream }: OwnCall, service: Service): Promise<SentMetadata | undefined> {
  const call = new ServerCall(service, {
    binding: "GRPC",
    header: createHeaderReader(opened),
    peer: () => stream.peer,
    certificate: () => stream.certificate,
  });
  try {
    await call.authenticate();
    return undefined;
  } catch (error) {
    return errorToStatus(call.publicError(error));
  } finally {
    call.end();
  }
}

// The services are built from outlines, which omit what only readers of a schema need.
const fullFiles: ReadonlyMap<string, () => Promise<DescFile>> = new Map([
  [A2AService, async () => (await import("../../../gen/lf/a2a/v1/a2a_pb.js")).file_lf_a2a_v1_a2a],
  [A2AServiceV03, async () => (await import("../../../gen/a2a/v1/a2a_pb.js")).file_a2a_v1_a2a],
]);

/** Schema files and their imports, found by file name, by a symbol that they declare, or by a type that they extend. */
class SchemaIndex {
  readonly #files = new Map<string, DescFile>();
  readonly #symbols = new Map<string, DescFile>();
  readonly #extensions = new Map<string, Map<number, DescFile>>();
  readonly #services = new Set<string>();

  constructor(files: readonly DescFile[]) {
    for (const file of files) this.#add(file);
  }

  answer({ case: question, value }: ServerReflectionRequest["messageRequest"]): Answer {
    switch (question) {
      case "listServices":
        return {
          case: "listServicesResponse",
          value: { service: [...this.#services].map((name) => ({ name })) },
        };
      case "fileByFilename":
        return filesResponse(this.#files.get(value), `file ${value}`);
      case "fileContainingSymbol":
        return filesResponse(this.#symbols.get(value), `symbol ${value}`);
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = value;
        const file = this.#extensions.get(containingType)?.get(extensionNumber);
        return filesResponse(file, `extension ${extensionNumber} of ${containingType}`);
      }
      case "allExtensionNumbersOfType": {
        const numbers = this.#extensions.get(value);
        if (numbers === undefined && !this.#symbols.has(value))
          return refusal(notFound, `the server has no type ${value}`);
        const extensionNumber = [...(numbers?.keys() ?? [])];
        return { case: "allExtensionNumbersResponse", value: { baseTypeName: value, extensionNumber } };
      }
      default:
        return refusal(invalidArgument, "the request has no message_request");
    }
  }

  #add(file: DescFile): void {
    const { name } = file.proto;
    if (this.#files.has(name)) return;
    this.#files.set(name, file);
    for (const dependency of file.dependencies) this.#add(dependency);
    for (const type of nestedTypes(file)) {
      for (const symbol of [type.typeName, ...listMembers(type)]) this.#symbols.set(symbol, file);
      if (type.kind === "service") this.#services.add(type.typeName);
      if (type.kind === "extension") this.#addExtension(type, file);
    }
  }

  #addExtension({ extendee, number }: DescExtension, file: DescFile): void {
    const numbers = this.#extensions.get(extendee.typeName) ?? new Map<number, DescFile>();
    this.#extensions.set(extendee.typeName, numbers.set(number, file));
  }
}

/** The full names of the members of a type. Values of an enum are in the scope of the enum, not below it. */
function listMembers(type: NestedType): readonly string[] {
  const { typeName } = type;
  const names = (list: readonly { readonly name: string }[], scope = typeName) =>
    list.map(({ name }) => (scope === "" ? name : `${scope}.${name}`));
  switch (type.kind) {
    case "enum":
      return names(type.values, typeName.slice(0, Math.max(0, typeName.lastIndexOf("."))));
    case "service":
      return names(type.methods);
    case "message":
      return names([...type.fields, ...type.oneofs]);
    default:
      return [];
  }
}

/** The file and everything that it imports, which tools need too. */
function filesResponse(file: DescFile | undefined, what: string): Answer {
  if (file === undefined) return refusal(notFound, `the server has no ${what}`);
  const files = new Set([file]);
  for (const each of files) for (const dependency of each.dependencies) files.add(dependency);
  const fileDescriptorProto = [...files].map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function refusal(errorCode: number, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}
