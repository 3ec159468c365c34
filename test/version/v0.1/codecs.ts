import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { GetTaskRequestSchema, type Part, PartSchema, type Task, TaskSchema } from "../../../src/protocol/model.js";
import { findOperation, type OperationName } from "../../../src/protocol/operations.js";
import type { JsonRpcAdapter, OperationCodec } from "../../../src/version/codec.js";
import { createV01 } from "../../../src/version/v0.1/v01.js";

/** The JSON-RPC adapter of 0.1. */
export const adapter: JsonRpcAdapter = createV01().jsonRpc ?? missing();

function missing(): never {
  throw new TypeError("version 0.1 has no JSON-RPC");
}

export function codecOf(name: OperationName): OperationCodec {
  return adapter.codec(findOperation(name));
}

/** For replies whose reading does not depend on the request. */
export const anyRequest = create(GetTaskRequestSchema);

export function text(value: string): JsonObject {
  return { type: "text", text: value };
}

export function textPart(value: string): Part {
  return create(PartSchema, { content: { case: "text", value } });
}

export function taskOf(init: MessageInitShape<typeof TaskSchema>): Task {
  return create(TaskSchema, init);
}
