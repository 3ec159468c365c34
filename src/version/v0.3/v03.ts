import { defaultValidationLimits } from "../../protocol/validation-limits.js";
import type { Version } from "../codec.js";
import type { VersionOptions } from "../options.js";
import { readCard, writeCard } from "./card.js";
import { grpcAdapter } from "./grpc.js";
import { httpJsonAdapters } from "./http-json.js";
import { jsonRpcAdapter } from "./json-rpc.js";
import { pushAdapter } from "./push.js";

// Version 0.3: kind-JSON for JSON-RPC, its card and webhooks; messages of its own schema for gRPC and HTTP+JSON.

/** Creates version 0.3. */
export function createV03(options: VersionOptions = {}): Version {
  const [httpJson, ...httpJsonOthers] = httpJsonAdapters(options);
  return {
    name: "0.3",
    jsonRpc: jsonRpcAdapter(options.limits ?? defaultValidationLimits),
    httpJson,
    httpJsonOthers,
    grpc: grpcAdapter(options),
    push: pushAdapter,
    writeCard,
    readCard,
  };
}
