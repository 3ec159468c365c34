import { type Message as AnyMessage, isMessage, type JsonValue } from "@bufbuild/protobuf";
import type { validate } from "../../protocol/check/validate.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { invalidParams } from "../../protocol/errors.js";
import { httpRoutes, sortRoutes } from "../../protocol/http-routes.js";
import { A2AService, AgentCardSchema, ListTasksRequestSchema, type StreamResponse } from "../../protocol/model.js";
import { operations } from "../../protocol/operations.js";
import { a2aMediaType } from "../../protocol/service-parameters.js";
import type { ValidationLimits } from "../../protocol/validation-limits.js";
import type {
  GrpcAdapter,
  HttpJsonAdapter,
  HttpRoute,
  JsonRpcAdapter,
  StreamReader,
  StreamWriter,
  Version,
} from "../codec.js";
import { queryFromJson, queryToJson } from "../query.js";
import { readCard, writeCard } from "./card.js";
import { errorFromHttp, errorFromJsonRpc, httpBodyFromError, jsonRpcFromError } from "./errors.js";
import { createEventTexts, createStreamWriter, jsonCodecs, jsonStreamReader, type ServerCode } from "./json.js";

// Version 1.0, which is the model's own: its objects are the model's messages, and its methods are the service's.

const name = "1.0";

const methods = new Map(operations.map((operation) => [operation.method, operation]));

// The schema uses GET to subscribe and the specification's text POST (D-1). We serve both and call GET.
const routes: readonly HttpRoute[] = sortRoutes(
  httpRoutes(operations).flatMap((route) =>
    route.suffix === ":subscribe" ? [route, { ...route, verb: "POST" as const }] : [route],
  ),
);

/** All functions that only a server needs; a client passes stand-ins. */
export interface ServerParts extends ServerCode {
  readonly validate: typeof validate;
}

/** Version 1.0. Requests are checked against the limits when they are read. */
export function createVersion(limits: ValidationLimits, server: ServerParts): Version {
  const { validate, foreignNamesIn } = server;
  const eventTexts = createEventTexts(server);
  const streamWriter = createStreamWriter(eventTexts);
  const adapter = { version: name, isImplied: false, declares: name, extensionsName: "A2A-Extensions" };
  const jsonAdapter = {
    ...adapter,
    codec: jsonCodecs(limits, server),
    writeStream: () => streamWriter,
    readStream: () => jsonStreamReader,
  };
  const jsonRpc: JsonRpcAdapter = {
    ...jsonAdapter,
    methods,
    findMethod: ({ method }) => method,
    takesPartialEnvelopes: false,
    writeError: jsonRpcFromError,
    readError: errorFromJsonRpc,
  };
  const httpJson: HttpJsonAdapter = {
    ...jsonAdapter,
    routes,
    mediaType: a2aMediaType,
    readStream: () => httpStreamReader,
    readQuery: ({ input }, query) => queryToJson(input, query),
    writeQuery: (_, request) => queryFromJson(request),
    writeError: httpBodyFromError,
    readError: errorFromHttp,
  };
  // The messages of gRPC are the model, so they are only validated.
  const grpc: GrpcAdapter = {
    ...adapter,
    methods,
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
    writeStream: () => grpcStreamWriter,
    readStream: () => grpcStreamReader,
  };
  // Known receivers expect different header names.
  const tokenHeaders = ["X-A2A-Notification-Token", "A2A-Notification-Token"];
  const push = { mediaType: a2aMediaType, tokenHeaders, delivers: "event", write: eventTexts.text } as const;
  return {
    name,
    jsonRpc,
    httpJson,
    grpc,
    push,
    writeCard,
    readCard: (json) => readCard(json, (card) => validate(AgentCardSchema, card)),
  };
}

// Over HTTP+JSON an event may carry an error; JSON-RPC has an envelope for that.
const httpStreamReader: StreamReader<JsonValue> = {
  read(json, head) {
    const error = isJsonObject(json) ? json["error"] : undefined;
    if (!isJsonObject(error)) return jsonStreamReader.read(json, head);
    throw errorFromHttp(typeof error["code"] === "number" ? error["code"] : 500, json);
  },
};

const grpcStreamWriter: StreamWriter<AnyMessage> = {
  write: ({ response, id }) => [{ payload: response, id }],
};

const grpcStreamReader: StreamReader<StreamResponse> = {
  read: (response) => (response.payload.case === undefined ? [] : [{ response }]),
};
