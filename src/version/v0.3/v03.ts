import { defaultValidationLimits } from "../../protocol/validation-limits.js";
import type { Version } from "../codec.js";
import type { VersionOptions } from "../options.js";
import { readCard, writeCard } from "./card.js";
import { grpcAdapter } from "./grpc.js";
import { httpJsonAdapters } from "./http-json.js";
import { jsonRpcAdapter } from "./json-rpc.js";
import { pushAdapter } from "./push.js";

// Version 0.3 has two forms. `json/` upgrades the kind-JSON of JSON-RPC, card and webhooks to 1.0 JSON, which the
// reader of 1.0 reads; so limits and field paths are the same. `proto/` maps the messages of `a2a.v1`, which gRPC and
// HTTP+JSON carry, one by one.

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
