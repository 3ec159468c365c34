import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { invalidParams } from "../../protocol/errors.js";
import { type StreamResponse, typeNames } from "../../protocol/model.js";
import { findOperation, type Operation } from "../../protocol/operations.js";
import { defaultValidationLimits } from "../../protocol/validation-limits.js";
import { mustBe } from "../../protocol/violations.js";
import type { HttpJsonAdapter, OperationCodec } from "../codec.js";
import { encodeOnce } from "../encode-once.js";
import type { VersionOptions } from "../options.js";
import { queryFromJson } from "../query.js";
import { callV03 } from "./call.js";
import { errorFromEvent, errorFromHttp, httpBodyFromError } from "./errors.js";
import { kindJsonCodecs, readEvent } from "./json/codec.js";
import { camelCase, snakeCase } from "./json/names.js";
import { eventToKindJson } from "./json/write.js";
import { queryJson } from "./proto/json.js";
import { plainRoutes } from "./proto/routes.js";
import { serveV03 } from "./serve.js";
import { closingReader, closingWriter } from "./streams.js";

// HTTP+JSON of 0.3 as the Go SDK speaks it from 2.0 on: the paths of 1.0 with the JSON-RPC objects of 0.3, in snake
// case. Its callers declare their version; without that, the paths belong to 1.0.

const eventText = encodeOnce((response) => JSON.stringify(snakeCase(eventToKindJson(response))));
const closingText = encodeOnce((response) => JSON.stringify(snakeCase(eventToKindJson(response, true))));

export function snakeAdapter({ limits = defaultValidationLimits }: VersionOptions): HttpJsonAdapter {
  const kinds = kindJsonCodecs(limits);
  const codecs = new Map(plainRoutes.map(({ operation }) => [operation, createCodec(operation, kinds(operation))]));
  return {
    version: "0.3",
    isImplied: false,
    declares: "0.3",
    extensionsName: "X-A2A-Extensions",
    mediaType: "application/json",
    failureName: "error",
    routes: plainRoutes,
    codec: (operation) => codecs.get(operation) ?? kinds(operation),
    readQuery: queryJson,
    writeQuery: (_, request) => queryFromJson(request),
    writeStream: (operation, request) =>
      closingWriter(operation, request, (item, final) => (final ? closingText(item) : eventText(item))),
    readStream: (operation, request) =>
      closingReader<JsonValue>(operation, request, (json) => {
        const error = errorFromEvent(json);
        if (error !== undefined) throw error;
        const event = camelCase(json);
        const final = isJsonObject(event) && event["final"] === true;
        return { response: readEvent(operation.name, event) ?? unknownEvent, final };
      }),
    writeError: httpBodyFromError,
    readError: errorFromHttp,
    serve: serveV03,
    call: callV03,
  };
}

const unknownEvent: StreamResponse = { $typeName: typeNames.StreamResponse, payload: { case: undefined } };

const card = findOperation("getExtendedAgentCard");

function createCodec(operation: Operation, kind: OperationCodec): OperationCodec {
  return {
    readRequest: (json) => kind.readRequest(toParams(operation, camelCase(json ?? {}))),
    writeRequest: (request) => fromParams(operation, kind.writeRequest(request) ?? {}),
    readReply: (json, request) => kind.readReply(json === undefined ? undefined : camelCase(json), request),
    writeReply(reply, request) {
      const json = kind.writeReply(reply, request);
      // That SDK reads the card in camel case only.
      return operation === card ? json : snakeCase(json);
    },
  };
}

/** Returns the params in their JSON-RPC form, from a request with ids in its path. */
function toParams({ name, streams }: Operation, json: JsonValue): JsonValue {
  if (!isJsonObject(json)) throw invalidParams({ field: "", description: mustBe("an object", json) });
  if (name === "sendMessage" || (streams && name !== "subscribeToTask")) return json;
  const { taskId = null, configId = null, pushNotificationConfig, ...rest } = json;
  if (name === "createTaskPushNotificationConfig") {
    return { taskId, pushNotificationConfig: pushNotificationConfig ?? rest };
  }
  return { ...rest, id: taskId, pushNotificationConfigId: configId };
}

/** The reverse of `toParams`: ids under the names of the path, everything else in snake case. */
function fromParams({ name, streams }: Operation, params: JsonValue): JsonValue {
  if (!isJsonObject(params) || name === "sendMessage" || (streams && name !== "subscribeToTask"))
    return snakeCase(params);
  const { id, taskId, pushNotificationConfigId, pushNotificationConfig, metadata: _, ...rest } = params;
  if (isJsonObject(pushNotificationConfig))
    return { taskId: taskId ?? null, ...asObject(snakeCase(pushNotificationConfig)) };
  return {
    ...rest,
    ...(id === undefined ? {} : { taskId: id }),
    ...(pushNotificationConfigId === undefined ? {} : { configId: pushNotificationConfigId }),
  };
}

function asObject(json: JsonValue): JsonObject {
  return isJsonObject(json) ? json : {};
}
