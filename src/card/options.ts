import type { JsonObject } from "@bufbuild/protobuf";
import type { Principal } from "../protocol/context.js";
import type { VersionName } from "../version/versions.js";

/** The organization behind the agent. */
export interface ProviderOptions {
  /** Name of the organization. */
  readonly organization: string;
  /** Web site of the organization. */
  readonly url: string;
}

/** One ability of the agent. */
export interface SkillOptions {
  /** Unique within the card. */
  readonly id: string;
  /** Name shown to people. */
  readonly name: string;
  /** What the skill does, for people and for models that choose an agent. */
  readonly description: string;
  /** At least one keyword. */
  readonly tags: readonly string[];
  /** Prompts that this skill answers. */
  readonly examples?: readonly string[] | undefined;
  /** Media types that it accepts. Default: those of the card. */
  readonly inputModes?: readonly string[] | undefined;
  /** Media types that it produces. Default: those of the card. */
  readonly outputModes?: readonly string[] | undefined;
}

/** A protocol extension that the agent supports. */
export interface ExtensionOptions {
  /** The URI that identifies the extension. */
  readonly uri: string;
  /** What this agent uses the extension for. Default: none. */
  readonly description?: string | undefined;
  /** Calls that do not activate it are refused. Default: false. */
  readonly required?: boolean | undefined;
  /** Settings that the extension defines, any JSON object. */
  readonly params?: JsonObject | undefined;
}

/** The part of an agent's card that you write; Trivium adds interfaces and capabilities (spec 4.4). */
export interface CardOptions {
  /** Name of the agent, shown to people. */
  readonly name: string;
  /** What the agent does, for people and for models that choose an agent. */
  readonly description: string;
  /** The agent's own version, not the protocol's. */
  readonly version: string;
  /** The organization behind the agent. Default: none. */
  readonly provider?: ProviderOptions | undefined;
  /** Web page that documents the agent. Default: none. */
  readonly documentationUrl?: string | undefined;
  /** Image that represents the agent. Default: none. */
  readonly iconUrl?: string | undefined;
  /** What the agent can do. Default: one skill with the card's name and description. */
  readonly skills?: readonly SkillOptions[] | undefined;
  /** Media types accepted by every skill that lists none. Default: `["text/plain"]`, without refusing others. */
  readonly defaultInputModes?: readonly string[] | undefined;
  /** Media types produced by every skill that lists none. Default: `["text/plain"]`. */
  readonly defaultOutputModes?: readonly string[] | undefined;
  /** Protocol extensions that the agent supports (spec 4.6). Default: none. */
  readonly extensions?: readonly ExtensionOptions[] | undefined;
  /**
   * `streaming` and `pushNotifications`: `false` turns one off; `true` for one that is not running fails at startup.
   * Default: what is running.
   */
  readonly capabilities?: CapabilityOptions | undefined;
  /** Additions for authenticated callers (spec 3.1.11). Needs `auth` or `authenticate`. Default: no extended card. */
  readonly extended?: CardAdditions | ExtendCard | undefined;
  /** How long clients may use the card without revalidation, in seconds. Default: 300. */
  readonly cacheMaxAgeSeconds?: number | undefined;
  /**
   * The card for requests that name no version. `"both"`: one card for readers of every served version. A version: the
   * card of that version alone, for strict readers that reject unknown members. A request that names a version gets the
   * card of that version alone. Default: `"both"`.
   */
  readonly audience?: "both" | VersionName | undefined;
  /**
   * How the public and the extended card write the scopes of a required scheme in JSON (spec 4.5). `"protojson"`:
   * `{ "list": ["read"] }`, as specified. `"go"`: `["read"]`, the only form that the Go SDK reads. The Python and
   * JavaScript SDKs ignore scopes in that form. Default: `"protojson"`.
   */
  readonly securityRequirements?: "protojson" | "go" | undefined;
}

interface CapabilityOptions {
  readonly streaming?: boolean | undefined;
  readonly pushNotifications?: boolean | undefined;
}

type DescriptionOptions = Omit<
  CardOptions,
  "capabilities" | "extended" | "cacheMaxAgeSeconds" | "audience" | "securityRequirements"
>;

/**
 * The additions of an extended card: skills and extensions are added to the public ones, replacing those with the same
 * id or URI; every other member replaces the public one.
 */
export type CardAdditions = { readonly [K in keyof DescriptionOptions]?: DescriptionOptions[K] | undefined };

/**
 * Returns what one caller sees beyond the public card. `undefined` means nothing, and the caller gets
 * `extendedAgentCardNotConfigured`. May throw `permissionDenied`.
 */
type ExtendCard = (principal: Principal) => CardAdditions | undefined | Promise<CardAdditions | undefined>;
