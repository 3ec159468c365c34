import { createHash } from "node:crypto";
import type { HttpEndpoint, HttpReply, HttpRequest } from "../binding/http.js";
import type { AgentCard } from "../protocol/model.js";
import { parseVersion, versionParameter } from "../protocol/service-parameters.js";
import type { Version } from "../version/codec.js";
import { isFresh } from "./conditional.js";
import type { Place, Places } from "./urls.js";

/** Where readers look for the card: those of today, and the oldest. */
export const cardPaths: readonly string[] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

export interface CardEndpointOptions {
  /** The card for callers at one place; asked once for each place that is kept. */
  readonly cardAt: (place: Place) => AgentCard;
  readonly places: Places;
  /** In order; the first is for callers who name none of them. */
  readonly versions: readonly [Version, ...Version[]];
  readonly cacheMaxAgeSeconds: number;
  readonly lastModified: Date;
}

/** Encoded cards that are kept. More places than these are asked for only by somebody who invents hosts. */
const keptCards = 16;

interface EncodedCard {
  readonly body: Uint8Array;
  readonly etag: string;
}

/** Serves the card at the well-known paths (spec 8.2, 8.6): encoded once for each place and version. */
export function cardEndpoint(options: CardEndpointOptions): HttpEndpoint {
  const { places, versions, lastModified } = options;
  const varyBy = [...places.varyBy, ...(versions.length > 1 ? ["A2A-Version"] : [])];
  const common = {
    "Cache-Control": `public, max-age=${options.cacheMaxAgeSeconds}`,
    "Last-Modified": lastModified.toUTCString(),
    ...(varyBy.length > 0 ? { Vary: varyBy.join(", ") } : {}),
  };
  const encoded = keepRecent(keptCards, (version: Version, place: Place) => encode(version, options.cardAt(place)));
  return (request) => {
    if (!cardPaths.includes(request.path)) return undefined;
    if (request.method !== "GET" && request.method !== "HEAD") {
      return refusal(405, "the agent card is read by GET or HEAD", { Allow: "GET, HEAD" });
    }
    const place = places.of(request);
    if (place === undefined) return refusal(400, "the request names a host that cannot be one");
    const { body, etag } = encoded(versionFor(request, versions), place);
    const headers = { ...common, ETag: etag };
    if (isFresh(request, { etag, lastModified })) return { status: 304, headers, body: undefined };
    // HEAD has the body as well, for its length: the server leaves it out.
    return {
      status: 200,
      headers: { ...headers, "Content-Type": "application/json", "X-Content-Type-Options": "nosniff" },
      body,
    };
  };
}

/** A version that is not served is no error here: the card is where a caller finds out which ones are. */
function versionFor(request: HttpRequest, versions: CardEndpointOptions["versions"]): Version {
  const wanted = parseVersion(request.header(versionParameter) ?? "");
  return versions.find(({ name }) => name === wanted) ?? versions[0];
}

function encode(version: Version, card: AgentCard): EncodedCard {
  const body = new TextEncoder().encode(JSON.stringify(version.writeCard(card)));
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"` };
}

function keepRecent(
  most: number,
  make: (version: Version, place: Place) => EncodedCard,
): (version: Version, place: Place) => EncodedCard {
  const kept = new Map<string, EncodedCard>();
  return (version, place) => {
    const key = `${version.name} ${place.base} ${place.grpc}`;
    const card = kept.get(key) ?? make(version, place);
    // A map keeps the order of insertion: the first key is the one that was not asked for longest.
    kept.delete(key);
    kept.set(key, card);
    const [oldest] = kept.keys();
    if (kept.size > most && oldest !== undefined) kept.delete(oldest);
    return card;
  };
}

function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}): HttpReply {
  return { status, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers }, body: `${message}\n` };
}
