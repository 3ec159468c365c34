import { defaultValidationLimits } from "../../protocol/validation-limits.js";
import type { Version } from "../codec.js";
import type { VersionOptions } from "../options.js";
import { pushAdapter } from "../v0.3/push.js";
import { readCard, writeCard } from "./card.js";
import { jsonRpcAdapter } from "./json-rpc.js";

/** Creates version 0.2: the common subset of 0.2.0 to 0.2.6, emulating what the earlier of them lack. */
export function createV02({ limits = defaultValidationLimits }: VersionOptions = {}): Version {
  const cards = { writeCard, readCard };
  return { name: "0.2", jsonRpc: jsonRpcAdapter(limits, cards), push: pushAdapter, ...cards };
}
