import { defaultValidationLimits } from "../../protocol/validation-limits.js";
import type { Version } from "../codec.js";
import type { VersionOptions } from "../options.js";
import { readCard, writeCard } from "./card.js";
import { grpcFace } from "./grpc.js";
import { httpJsonFaces } from "./http-json.js";
import { jsonRpcFace } from "./json-rpc.js";
import { pushFace } from "./push.js";

// Version 0.3: kind-JSON over JSON-RPC, on its card and to webhooks; messages of its own schema over gRPC and HTTP+JSON.

/** Makes version 0.3. */
export function createV03(options: VersionOptions = {}): Version {
  const [httpJson, ...httpJsonOthers] = httpJsonFaces(options);
  return {
    name: "0.3",
    jsonRpc: jsonRpcFace(options.limits ?? defaultValidationLimits),
    httpJson,
    httpJsonOthers,
    grpc: grpcFace(options),
    push: pushFace,
    writeCard,
    readCard,
  };
}
