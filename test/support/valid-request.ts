import { create } from "@bufbuild/protobuf";
import { MessageSchema, PartSchema, Role } from "../../src/protocol/model.js";
import { findOperation, type OperationName, type RequestOf } from "../../src/protocol/operations.js";

/** A request with every field that an operation needs, with a tenant and ids that need escaping. */
export function validRequest<K extends OperationName>(name: K): RequestOf<K> {
  const parts = [create(PartSchema, { content: { case: "text", value: "hi é😀" } })];
  const message = create(MessageSchema, { messageId: "m", role: Role.USER, parts });
  const values: { readonly [field: string]: unknown } = {
    message,
    tenant: "nørth/x",
    id: "a/b:cancel?é",
    taskId: "t 1#%",
    url: "https://hook.example/?a=b&c",
  };
  const { input } = findOperation(name);
  const fields = input.fields.map(({ localName }) => localName).filter((field) => field in values);
  return create(input, Object.fromEntries(fields.map((field) => [field, values[field]]))) as RequestOf<K>;
}
