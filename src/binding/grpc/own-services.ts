import {
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  toBinary,
} from "@bufbuild/protobuf";
import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";
import { toBuffer } from "./method.js";

/**
 * Converts a service of gRPC itself, health or reflection, to the form that grpc-js takes. Generated descriptors are
 * used, since a bundle has no proto files. `typeName`: the name to serve it under.
 */
export function defineService(service: DescService, typeName: string = service.typeName): ServiceDefinition {
  const methods = service.methods.map((method) => [method.name, methodDefinition(method, typeName)]);
  return Object.fromEntries(methods);
}

function methodDefinition(
  { name, input, output, methodKind }: DescMethod,
  typeName: string,
): MethodDefinition<Message, Message> {
  return {
    path: `/${typeName}/${name}`,
    requestStream: methodKind === "client_streaming" || methodKind === "bidi_streaming",
    responseStream: methodKind === "server_streaming" || methodKind === "bidi_streaming",
    requestSerialize: createWriter(input),
    requestDeserialize: createReader(input),
    responseSerialize: createWriter(output),
    responseDeserialize: createReader(output),
  };
}

const createWriter = (schema: DescMessage) => (message: Message) => toBuffer(toBinary(schema, message));
const createReader = (schema: DescMessage) => (bytes: Buffer) => fromBinary(schema, bytes);
