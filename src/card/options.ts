import type { JsonObject } from "@bufbuild/protobuf";
import type { Principal } from "../protocol/context.js";
import type { VersionName } from "../version/versions.js";

/** Who runs the agent. */
export interface ProviderOptions {
  readonly organization: string;
  /** Web site of the organization. */
  readonly url: string;
}

/** One thing that the agent can do. */
export interface SkillOptions {
  /** Unique within the card. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** At least one keyword. */
  readonly tags: readonly string[];
  /** Prompts that this skill answers. */
  readonly examples?: readonly string[] | undefined;
  /** Media types that it takes. Default: those of the card. */
  readonly inputModes?: readonly string[] | undefined;
  /** Media types that it makes. Default: those of the card. */
  readonly outputModes?: readonly string[] | undefined;
}

/** An extension of the protocol that the agent takes part in. */
export interface ExtensionOptions {
  readonly uri: string;
  readonly description?: string | undefined;
  /** Calls that do not activate it are refused. Default: false. */
  readonly required?: boolean | undefined;
  /** Settings that the extension defines, any JSON object. */
  readonly params?: JsonObject | undefined;
}

/** What only the author knows of an agent; the framework adds interfaces and capabilities (spec 4.4). */
export interface CardOptions {
  readonly name: string;
  readonly description: string;
  /** The agent's own version, not the protocol's. */
  readonly version: string;
  readonly provider?: ProviderOptions | undefined;
  readonly documentationUrl?: string | undefined;
  readonly iconUrl?: string | undefined;
  /** Default: one skill made of the card's name and description. */
  readonly skills?: readonly SkillOptions[] | undefined;
  /** Media types taken by every skill that names none. Default: `["text/plain"]`, and others are not refused. */
  readonly defaultInputModes?: readonly string[] | undefined;
  /** Media types made by every skill that names none. Default: `["text/plain"]`. */
  readonly defaultOutputModes?: readonly string[] | undefined;
  readonly extensions?: readonly ExtensionOptions[] | undefined;
  /** Default: what is really on. `false` turns one off; `true` for one that is not on is refused at start. */
  readonly capabilities?: CapabilityWishes | undefined;
  /** What known callers see beyond the public card; needs `authenticate`. Default: no extended card. */
  readonly extended?: CardAdditions | ExtendCard | undefined;
  /** How long clients may keep the card without asking again. Default: 300. */
  readonly cacheMaxAgeSeconds?: number | undefined;
  /**
   * Whom the card is for when a request for it does not say its version. `"both"`: one card for readers of every version
   * that is served, new and old. A version: its pure card, for strict readers, who refuse members that they do not know.
   * A request that says its version gets the pure card of that one. Default: `"both"`.
   */
  readonly audience?: "both" | VersionName | undefined;
}

interface CapabilityWishes {
  readonly streaming?: boolean | undefined;
  readonly pushNotifications?: boolean | undefined;
}

type Described = Omit<CardOptions, "capabilities" | "extended" | "cacheMaxAgeSeconds" | "audience">;

/**
 * What an extended card has more: skills and extensions are added to those of the public card (one with the same id or
 * URI replaces it), every other member replaces the public one.
 */
export type CardAdditions = { readonly [K in keyof Described]?: Described[K] | undefined };

/**
 * Says what one caller sees beyond the public card. `undefined`: there is nothing for this caller, who gets
 * `extendedAgentCardNotConfigured`. May throw `permissionDenied`.
 */
type ExtendCard = (principal: Principal) => CardAdditions | undefined | Promise<CardAdditions | undefined>;
