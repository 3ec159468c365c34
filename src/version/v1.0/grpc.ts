import { toBinary } from "@bufbuild/protobuf";
import { invalidParams } from "../../protocol/errors.js";
import { A2AService, type StreamResponse, StreamResponseSchema } from "../../protocol/model.js";
import { operations } from "../../protocol/operations.js";
import { validate } from "../../protocol/validate.js";
import type { ValidationLimits } from "../../protocol/validation-limits.js";
import type { GrpcFace, StreamReader, StreamWriter } from "../codec.js";
import { encodeOnce } from "../encode-once.js";

const bytesOf = encodeOnce((response) => toBinary(StreamResponseSchema, response));

const streamWriter: StreamWriter<Uint8Array> = {
  write: (item) => [{ payload: bytesOf(item), id: item.id }],
};

const streamReader: StreamReader<StreamResponse> = {
  read: (response, id) => (response.payload.case === undefined ? [] : [{ response, id }]),
};

/** How 1.0 looks over gRPC: its messages are the model, so they only have to be validated. */
export function grpcFace(version: string, limits: ValidationLimits): GrpcFace {
  return {
    version,
    service: A2AService,
    methods: new Map(operations.map((operation) => [operation.method, operation])),
    readRequest({ input }, wire) {
      const violations = validate(input, wire, limits);
      if (violations.length > 0) throw invalidParams(...violations);
      return wire;
    },
    writeRequest: (_, request) => request,
    readReply: (_, wire) => wire,
    writeReply: (_, reply) => reply,
    writeStream: () => streamWriter,
    readStream: () => streamReader,
  };
}
