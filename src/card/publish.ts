import type { HttpEndpoint } from "../binding/http/http.js";
import type { Principal } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { AgentCard } from "../protocol/model.js";
import type { Version } from "../version/codec.js";
import { authorProblems, describeCard, type RunningCapabilities, withInterfaces } from "./build.js";
import { addressProblems, assertNoProblems, audienceProblems, interfaceProblems } from "./check.js";
import { type CardAt, cardEndpoint } from "./endpoint.js";
import { extendedCard } from "./extended.js";
import { addressesAt, type Mount, mountsFor } from "./mounts.js";
import type { CardOptions } from "./options.js";
import { allExtensions } from "./own-extensions.js";
import type { Caller } from "./proxy.js";
import { createLocations, type ListeningAddress, type UrlOptions, urlProblems } from "./urls.js";

// Agent cards: built from options, checked, and served in the form of each version.

export interface PublishOptions {
  readonly card: CardOptions;
  readonly capabilities: RunningCapabilities;
  /** The served protocol versions, newest first. */
  readonly versions: readonly [Version, ...Version[]];
  readonly urls: UrlOptions;
  readonly listening: () => ListeningAddress;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The card of a running agent at any address. */
export interface PublishedCard {
  readonly endpoint: HttpEndpoint;
  /**
   * Sets the mounts, in order of preference, and clears the cache. Until then the endpoint has nothing to serve.
   * Throws a `CardError`.
   */
  mount(mounts: readonly Mount[]): void;
  /** The card in a version, for this caller or at the agent's own address. Default: the newest version. */
  card(caller?: Caller, version?: string): AgentCard;
  /**
   * The card of one authenticated caller; absent when the author configured none. Throws
   * `extendedAgentCardNotConfigured` when there is nothing for this caller.
   */
  readonly extended: ((principal: Principal, caller?: Caller, version?: string) => Promise<AgentCard>) | undefined;
}

/** Checks the card and everything it is built from. Throws a `CardError` that lists the contradictions. */
export function publishCard(options: PublishOptions): PublishedCard {
  const { versions } = options;
  const versionNames = versions.map(({ name }) => name);
  assertNoProblems([...authorProblems(options.card, options.capabilities), ...urlProblems(options.urls)]);
  assertNoProblems(audienceProblems(options.card.audience, versionNames));
  const { cacheMaxAgeSeconds = 300, extended, audience } = options.card;
  const description = describeCard({ ...options.card, extensions: allExtensions(options.card) }, options.capabilities);
  const locations = createLocations(options.urls, options.listening);
  let mounts: readonly Mount[] = [];
  const cardAt: CardAt = (location, reader) =>
    withInterfaces(description, addressesAt(mountsFor(mounts, reader), location));
  const endpoint = () =>
    cardEndpoint({
      cardAt,
      locations,
      versions,
      audience,
      cacheMaxAgeSeconds,
      lastModified: new Date(options.now()),
    });
  const card = (caller?: Caller, version = versions[0].name) =>
    cardAt((caller && locations.locationFor(caller)) ?? locations.ownLocation(), version);
  // Until something is mounted, the card would be empty.
  let current: HttpEndpoint = () => undefined;
  return {
    endpoint: (request) => current(request),
    mount(newMounts) {
      const location = locations.ownLocation();
      assertNoProblems(interfaceProblems(addressesAt(newMounts, location)));
      const cardFor = (reader: string) =>
        withInterfaces(description, addressesAt(mountsFor(newMounts, reader), location));
      assertNoProblems(documentProblems(cardFor, versions, audience));
      mounts = newMounts;
      current = endpoint();
    },
    card,
    extended:
      extended &&
      (async (principal, caller, version) => {
        const additions = typeof extended === "function" ? await extended(principal) : extended;
        if (additions === undefined) throw noExtendedCard();
        return extendedCard(card(caller, version), additions);
      }),
  };
}

/** Problems of the card in the form that each version writes. */
function documentProblems(
  cardFor: (reader: string) => AgentCard,
  versions: readonly Version[],
  audience: string | undefined,
): readonly string[] {
  return versions.flatMap((version) => {
    const pure = version.writeCard(cardFor(version.name));
    if (pure !== undefined) return addressProblems(version.name, pure);
    if (version.name !== audience) return [];
    return [`card.audience is ${audience}, but nothing is mounted that its readers can call: mount another binding`];
  });
}

const noExtendedCard = () =>
  new A2AError("extendedAgentCardNotConfigured", "there is no extended agent card for this caller");
