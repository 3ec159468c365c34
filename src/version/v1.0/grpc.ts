import { type Message as AnyMessage, isMessage } from "@bufbuild/protobuf";
import { invalidParams } from "../../protocol/errors.js";
import { A2AService, ListTasksRequestSchema, type StreamResponse } from "../../protocol/model.js";
import type { ValidationLimits } from "../../protocol/validation-limits.js";
import type { GrpcAdapter, StreamReader, StreamWriter } from "../codec.js";
import type { ServerParts } from "./version.js";

const streamWriter: StreamWriter<AnyMessage> = {
  write: ({ response, id }) => [{ payload: response, id }],
};

const streamReader: StreamReader<StreamResponse> = {
  read: (response) => (response.payload.case === undefined ? [] : [{ response }]),
};

/** The gRPC adapter of 1.0. Its messages are the model, so it only validates them. */
export function grpcAdapter(
  adapter: Pick<GrpcAdapter, "version" | "isImplied" | "declares" | "extensionsName" | "methods">,
  limits: ValidationLimits,
  { validate, foreignNamesIn }: Pick<ServerParts, "validate" | "foreignNamesIn">,
): GrpcAdapter {
  return {
    ...adapter,
    service: A2AService,
    readRequest({ input }, wire) {
      // Peers send proto3's default of zero for an unset field. Zero is no valid page size.
      if (isMessage(wire, ListTasksRequestSchema) && wire.pageSize === 0) delete wire.pageSize;
      const violations = validate(input, wire, limits);
      if (violations.length > 0) throw invalidParams(...violations);
      return wire;
    },
    foreignNamesIn: (operation, json) => foreignNamesIn("1.0", operation.name, json),
    writeRequest: (_, request) => request,
    readReply: (_, wire) => wire,
    writeReply: (_, reply) => reply,
    writeStream: () => streamWriter,
    readStream: () => streamReader,
  };
}
