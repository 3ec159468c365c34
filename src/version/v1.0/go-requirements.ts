import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import type { JsonRpcAdapter, Version } from "../codec.js";

// Cards as the Go SDK reads them: the scopes of a required scheme are a bare list. Its parser refuses the specified message
// with a `list`.

/** Returns the version with public and extended JSON cards in that form. */
export function withGoCards({ jsonRpc, httpJson, writeCard, ...version }: Version): Version {
  return {
    ...version,
    jsonRpc: jsonRpc && { ...jsonRpc, codec: withGoReplies(jsonRpc.codec) },
    httpJson: httpJson && { ...httpJson, codec: withGoReplies(httpJson.codec) },
    writeCard(card) {
      const json = writeCard(card);
      return json && withGoRequirements(json);
    },
  };
}

type CodecOf = JsonRpcAdapter["codec"];

function withGoReplies(findCodec: CodecOf): CodecOf {
  return (operation) => {
    const codec = findCodec(operation);
    if (operation.name !== "getExtendedAgentCard") return codec;
    const writeReply: typeof codec.writeReply = (reply, request) => {
      const json = codec.writeReply(reply, request);
      return isJsonObject(json) ? withGoRequirements(json) : json;
    };
    return { ...codec, writeReply, replyTexts: (reply, request) => [JSON.stringify(writeReply(reply, request))] };
  };
}

function withGoRequirements(card: JsonObject): JsonObject {
  const { skills } = card;
  if (!Array.isArray(skills)) return withBareScopes(card);
  return {
    ...withBareScopes(card),
    skills: skills.map((skill) => (isJsonObject(skill) ? withBareScopes(skill) : skill)),
  };
}

function withBareScopes(owner: JsonObject): JsonObject {
  const { securityRequirements } = owner;
  if (!Array.isArray(securityRequirements)) return owner;
  return { ...owner, securityRequirements: securityRequirements.map(bareRequirement) };
}

function bareRequirement(requirement: JsonValue): JsonValue {
  if (!isJsonObject(requirement) || !isJsonObject(requirement["schemes"])) return requirement;
  const schemes: JsonObject = {};
  for (const [name, scopes] of Object.entries(requirement["schemes"])) {
    schemes[name] = (isJsonObject(scopes) ? scopes["list"] : undefined) ?? [];
  }
  return { ...requirement, schemes };
}
