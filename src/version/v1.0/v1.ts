import { httpRoutes, sortRoutes } from "../../protocol/http-rules.js";
import { operations } from "../../protocol/operations.js";
import { queryFromJson, queryToJson } from "../../protocol/query.js";
import { defaultValidationLimits, type ValidationLimits } from "../../protocol/validation-limits.js";
import type { HttpJsonFace, HttpRoute, JsonRpcFace, Version } from "../codec.js";
import { readCard, writeCard } from "./card.js";
import { errorFromHttp, errorFromJsonRpc, httpBodyFromError, jsonRpcFromError } from "./errors.js";
import { grpcFace } from "./grpc.js";
import { jsonCodecs, jsonStreamReader, jsonStreamWriter } from "./json.js";

// Version 1.0: the model's own. Its objects are the messages of the model, and its methods those of the service.

const name = "1.0";

const methods = new Map(operations.map((operation) => [operation.method, operation]));

// The schema says GET for the subscription and the text of the specification POST (D-1): both are served, GET is used.
const routes: readonly HttpRoute[] = sortRoutes(
  httpRoutes(operations).flatMap((route) =>
    route.suffix === ":subscribe" ? [route, { ...route, verb: "POST" as const }] : [route],
  ),
);

/** Makes version 1.0 with limits of one's own. */
export function createV1(limits: ValidationLimits = defaultValidationLimits): Version {
  const shared = {
    version: name,
    codec: jsonCodecs(limits),
    writeStream: () => jsonStreamWriter,
    readStream: () => jsonStreamReader,
  };
  const jsonRpc: JsonRpcFace = {
    ...shared,
    methods,
    methodOf: ({ method }) => method,
    writeError: jsonRpcFromError,
    readError: errorFromJsonRpc,
  };
  const httpJson: HttpJsonFace = {
    ...shared,
    routes,
    readQuery: ({ input }, query) => queryToJson(input, query),
    writeQuery: (_, request) => queryFromJson(request),
    writeError: httpBodyFromError,
    readError: errorFromHttp,
  };
  return { name, jsonRpc, httpJson, grpc: grpcFace(name, limits), writeCard, readCard };
}

/** Version 1.0 with the default limits. */
export const v1: Version = createV1();
