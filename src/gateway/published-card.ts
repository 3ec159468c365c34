import type { HttpEndpoint } from "../binding/http/http.js";
import { withInterfaces } from "../card/build.js";
import { assertNoProblems, audienceProblems, interfaceProblems } from "../card/check.js";
import { type CardAt, cardEndpoint } from "../card/endpoint.js";
import { addressesAt, type Mount, mountsFor } from "../card/mounts.js";
import type { Caller } from "../card/proxy.js";
import type { PublishedCard } from "../card/publish.js";
import { createLocations, type ListeningAddress, type Location, type UrlOptions, urlProblems } from "../card/urls.js";
import type { AgentCard } from "../protocol/model.js";
import { parseVersion, versionParameter } from "../protocol/service-parameters.js";
import type { Version } from "../version/codec.js";

export interface RepublishOptions {
  /** The card without interfaces, as it holds for callers of one version or, without a version, for all. */
  readonly cardFor: (version: string | undefined) => AgentCard;
  readonly versions: readonly [Version, ...Version[]];
  readonly urls: UrlOptions;
  readonly audience: string | undefined;
  readonly listening: () => ListeningAddress;
  readonly cacheMaxAgeSeconds: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The card of the agent behind the gateway, published with the gateway's interfaces. */
export interface RepublishedCard extends PublishedCard {
  /** Clears the cache because `cardFor` changed. */
  renew(): void;
  /** Another card, such as an extended one, with the interfaces for this caller and version. */
  place(card: AgentCard, caller: Caller | undefined, version: string): AgentCard;
}

/** Throws a `CardError` for addresses that a card cannot contain. */
export function republishCard(options: RepublishOptions): RepublishedCard {
  const { cardFor, versions, urls, audience, listening } = options;
  const names = versions.map(({ name }) => name);
  assertNoProblems([...urlProblems(urls), ...audienceProblems(audience, names)]);
  const locations = createLocations(urls, listening);
  let mounts: readonly Mount[] = [];
  const placeAt = (card: AgentCard, location: Location, reader: string): AgentCard =>
    withInterfaces(card, addressesAt(mountsFor(mounts, reader), location));
  const place = (card: AgentCard, caller: Caller | undefined, version: string): AgentCard =>
    placeAt(card, (caller && locations.locationFor(caller)) ?? locations.ownLocation(), version);
  const encode = (): HttpEndpoint => {
    const { cacheMaxAgeSeconds, now } = options;
    const common = { locations, cacheMaxAgeSeconds, lastModified: new Date(now()) };
    const cardAt: CardAt = (location, reader) => placeAt(cardFor(undefined), location, reader);
    const forAll = cardEndpoint({ ...common, cardAt, versions });
    const forOne = cardEndpoint({
      ...common,
      cardAt,
      versions: versions.map((each) => withOwnCard(each, cardFor)),
      audience,
    });
    const isForOne = (version: string | undefined): boolean => names.includes(version ?? "");
    return (request) => {
      const declaredVersion = parseVersion(request.header(versionParameter) ?? "");
      return isForOne(declaredVersion) || isForOne(audience) ? forOne(request) : forAll(request);
    };
  };
  let current: HttpEndpoint = () => undefined;
  return {
    endpoint: (request) => current(request),
    mount(next) {
      assertNoProblems(interfaceProblems(addressesAt(next, locations.ownLocation())));
      mounts = next;
      current = encode();
    },
    renew() {
      current = encode();
    },
    card: (caller, version = versions[0].name) => place(cardFor(undefined), caller, version),
    place,
    // The upstream agent provides it.
    extended: undefined,
  };
}

// Each version gets its own card, since the agent may differ for its callers.
function withOwnCard(version: Version, cardFor: RepublishOptions["cardFor"]): Version {
  return {
    ...version,
    writeCard: ({ supportedInterfaces }) => version.writeCard({ ...cardFor(version.name), supportedInterfaces }),
  };
}
