import type { JsonObject } from "@bufbuild/protobuf";
import type { HttpEndpoint } from "../binding/http/http.js";
import { plainReply } from "../binding/http/http.js";
import type { AgentCard } from "../protocol/model.js";
import { parseVersion, versionParameter } from "../protocol/service-parameters.js";
import type { Version } from "../version/codec.js";
import { cacheRecent, type EncodedBody, encode, isFresh } from "./cached-reply.js";
import { unionCard } from "./union.js";
import type { Location, Locations } from "./urls.js";

/** The well-known paths: the one since 0.3, and the one before. */
export const cardPaths: readonly string[] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

export type CardAt = (location: Location, reader: string) => AgentCard;

export interface CardEndpointOptions {
  /** The card for callers at one location, in the form of a version; called once for each cached location. */
  readonly cardAt: CardAt;
  readonly locations: Locations;
  /** Newest first. */
  readonly versions: readonly Version[];
  /** The version whose card is served to requests that name none. Default: one card for readers of all versions. */
  readonly audience?: string | undefined;
  readonly cacheMaxAgeSeconds: number;
  readonly lastModified: Date;
}

/** Most locations with cached cards. Only callers that invent hosts need more. */
const maxLocations = 16;

/** Serves the card at the well-known paths (spec 8.2, 8.6), encoded once for each location and version. */
export function cardEndpoint(options: CardEndpointOptions): HttpEndpoint {
  const { locations, versions, lastModified } = options;
  const varyBy = [...locations.varyBy, ...(versions.length > 1 ? ["A2A-Version"] : [])];
  const commonHeaders = {
    "Cache-Control": `public, max-age=${options.cacheMaxAgeSeconds}, no-transform`,
    "Last-Modified": lastModified.toUTCString(),
    ...(varyBy.length > 0 ? { Vary: varyBy.join(", ") } : {}),
  };
  const cardsByLocation = cacheRecent<CardFor>(maxLocations);
  const cardsAt = (location: Location): CardFor =>
    cardsByLocation(`${location.base} ${location.grpc}`, () => encodeCards(location, options));
  return (request) => {
    if (!cardPaths.includes(request.path)) return undefined;
    if (request.method !== "GET" && request.method !== "HEAD") {
      return plainReply(405, "the agent card is read by GET or HEAD", { Allow: "GET, HEAD" });
    }
    const location = locations.locationFor(request);
    if (location === undefined) return plainReply(400, "the request names a host that cannot be one");
    const { body, etag } = cardsAt(location)(parseVersion(request.header(versionParameter) ?? ""));
    const headers = { ...commonHeaders, ETag: etag };
    if (isFresh(request, { etag, lastModified })) return { status: 304, headers, body: undefined };
    // HEAD has the body too, for its length; the server omits it.
    return {
      status: 200,
      headers: { ...headers, "Content-Type": "application/json", "X-Content-Type-Options": "nosniff" },
      body,
    };
  };
}

type CardFor = (version: string | undefined) => EncodedBody;

/**
 * The card in the form of each version. A version that is not served, or that cannot express the card, gets another
 * form and no error: callers read the card to learn the versions.
 */
function encodeCards(location: Location, { cardAt, versions, audience = "" }: CardEndpointOptions): CardFor {
  const cards = new Map<string, JsonObject>();
  for (const version of versions) {
    const json = version.writeCard(cardAt(location, version.name));
    if (json !== undefined) cards.set(version.name, json);
  }
  const union = unionCard([...cards.values()]);
  const bodies = new Map<JsonObject, EncodedBody>();
  return (version = "") => {
    const json = cards.get(version) ?? cards.get(audience) ?? union;
    const body = bodies.get(json) ?? encode(JSON.stringify(json));
    bodies.set(json, body);
    return body;
  };
}
