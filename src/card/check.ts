import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { bindings, isAuthority } from "../protocol/bindings.js";
import {
  count,
  extensionUri,
  flag,
  grpcAddress,
  jsonObject,
  list,
  type Member,
  mediaType,
  object,
  oneOf,
  type Rule,
  text,
  url,
} from "../protocol/check/rules.js";
import { isJsonObject } from "../protocol/codec/outline/dynamic.js";
import { isObject } from "../protocol/kinds.js";
import { parseVersion } from "../protocol/service-parameters.js";
import type { MountAddress } from "./mounts.js";

// Checks that a card has what it must have (spec 4.4, 5.7) and does not contradict itself.

/**
 * The card contradicts itself. The message lists every problem and what to change.
 *
 * @example
 * ```ts
 * try {
 *   await serve({ card, agent });
 * } catch (error) {
 *   if (!(error instanceof CardError)) throw error;
 *   console.error(error.message);
 *   process.exitCode = 1;
 * }
 * ```
 */
export class CardError extends TypeError {
  /** Every problem, as a sentence that names the member of the card. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      problems.length === 1 ? problems[0] : `${problems.length} problems:\n${problems.map((p) => `- ${p}`).join("\n")}`,
    );
    this.name = "CardError";
    this.problems = problems;
  }
}

/** Throws a `CardError` when there are problems. */
export function assertNoProblems(problems: readonly string[]): void {
  if (problems.length > 0) throw new CardError(problems);
}

const member = (name: string) => (entry: unknown) => (isObject(entry) ? entry[name] : undefined);

const webUrl = url("https", "http");

const provider = object({
  organization: { rule: text, missing: "say who runs the agent, or leave out the provider" },
  url: { rule: webUrl, missing: "give the web site of the organization, or leave out the provider" },
});

const skill = object({
  id: { rule: text, missing: "give an id that is unique within the card" },
  name: { rule: text, missing: "give a name to show" },
  description: { rule: text, missing: "say what the skill does" },
  tags: { rule: list(text), missing: "give at least one keyword" },
  examples: { rule: list(text) },
  inputModes: { rule: list(mediaType) },
  outputModes: { rule: list(mediaType) },
});

const extension = object({
  uri: { rule: extensionUri, missing: "give the URI that identifies the extension" },
  description: { rule: text },
  required: { rule: flag },
  params: { rule: jsonObject },
});

const descriptionMembers = {
  name: { rule: text, missing: "give the agent a name to show" },
  description: { rule: text, missing: "say what the agent is good for" },
  version: { rule: text, missing: 'give the agent\'s own version, such as "1.0.0"' },
  provider: { rule: provider },
  documentationUrl: { rule: webUrl },
  iconUrl: { rule: url("https", "http", "data") },
  skills: { rule: list(skill, member("id")) },
  defaultInputModes: { rule: list(mediaType) },
  defaultOutputModes: { rule: list(mediaType) },
  extensions: { rule: list(extension, member("uri")) },
} satisfies Record<string, Member>;

const derivedHint = "it is derived from publicUrl and the mounted bindings";

const hints: Readonly<Record<string, string>> = {
  url: derivedHint,
  supportedInterfaces: derivedHint,
  additionalInterfaces: derivedHint,
  preferredTransport: derivedHint,
  protocolVersion: derivedHint,
  signatures: "a signature is made of the card as it is served",
  supportsAuthenticatedExtendedCard: "give `extended` instead",
  securitySchemes: "give the option `auth` of the server: it declares schemes and checks calls",
  securityRequirements: "give `auth.require`",
  security: "give `auth.require`",
};

const capabilities = object(
  { streaming: { rule: flag }, pushNotifications: { rule: flag } },
  { extensions: "give them as card.extensions", extendedAgentCard: "give card.extended instead" },
);

const optionalMembers = Object.fromEntries(
  Object.entries(descriptionMembers).map(([name, { rule }]) => [name, { rule }]),
);
const additions = object(optionalMembers, hints);

const isRequirementForm = oneOf("protojson", "go");
const requirementForm: Rule = (value, path) => {
  const problems = isRequirementForm(value, path);
  // The author mistook the option for the requirements themselves.
  return Array.isArray(value)
    ? problems.map((problem) => `${problem}: give the requirements as \`auth.require\``)
    : problems;
};

const extendedCard: Rule = (value, path) => (typeof value === "function" ? [] : additions(value, path));

const card = object(
  {
    ...descriptionMembers,
    capabilities: { rule: capabilities },
    extended: { rule: extendedCard },
    cacheMaxAgeSeconds: { rule: count(31_536_000) },
    audience: { rule: text },
    securityRequirements: { rule: requirementForm },
  },
  hints,
);

/** Problems of `CardOptions`. */
export function cardProblems(options: unknown): readonly string[] {
  return card(options, "card");
}

/** Problems of `CardAdditions`. */
export function additionProblems(value: unknown): readonly string[] {
  return additions(value, "card.extended");
}

/** Problems of `audience`, given the names of the served versions. */
export function audienceProblems(audience: unknown, servedNames: readonly string[]): readonly string[] {
  const choices: readonly unknown[] = [undefined, "both", ...servedNames];
  if (choices.includes(audience)) return [];
  return [
    `card.audience must be "both" or a version that is served (${servedNames.join(", ")}), not ${JSON.stringify(audience)}`,
  ];
}

/** Problems of a card's interfaces: none, a duplicate, or one that cannot be called. */
export function interfaceProblems(addresses: readonly MountAddress[]): readonly string[] {
  if (addresses.length === 0) return ["the agent is mounted on no binding: mount at least one"];
  const problems: string[] = [];
  const keys = new Set<string>();
  for (const { binding, url: address, version, tenant } of addresses) {
    const name = `the interface ${binding || "without a binding"} ${version}`;
    if (binding === "") problems.push(`${name} needs the name of its binding`);
    if (parseVersion(version) !== version) problems.push(`${name} needs a version of the form Major.Minor`);
    if (isAuthority(binding)) problems.push(...grpcAddress(address, `the address of ${name}`));
    else if (!URL.canParse(address)) problems.push(`${name} needs an absolute URL, not "${address}"`);
    const key = JSON.stringify([binding, address, version, tenant ?? ""]);
    if (keys.has(key)) problems.push(`${name} is mounted twice at ${address}`);
    keys.add(key);
  }
  return problems;
}

/** Bindings that the protocol itself defines. Two of them at one address are a mistake. */
const coreBindings: readonly JsonValue[] = bindings.filter(({ isCore }) => isCore).map(({ wire }) => wire);

/**
 * Problems of the addresses in `additionalInterfaces`, including the main one in `url`: another transport than declared, two
 * transports at one address, or no transport of the protocol.
 */
export function addressProblems(version: string, card: JsonObject): readonly string[] {
  const { url, preferredTransport, additionalInterfaces } = card;
  if (!Array.isArray(additionalInterfaces)) return [];
  const locations = additionalInterfaces.filter(isJsonObject);
  const transportsAt = (address: JsonValue | undefined) =>
    locations.filter((location) => location["url"] === address).map(({ transport }) => transport ?? "");
  const problems: string[] = [];
  if (!transportsAt(url).includes(preferredTransport ?? "")) {
    const transportsAtUrl = transportsAt(url).join(", ") || "nothing";
    problems.push(`the card of ${version} prefers ${preferredTransport} at ${url}, where it lists ${transportsAtUrl}`);
  }
  for (const address of new Set(locations.map((location) => location["url"]))) {
    const transports = [...new Set(transportsAt(address).filter((transport) => coreBindings.includes(transport)))];
    if (transports.length < 2) continue;
    problems.push(
      `the card of ${version} lists ${address} as ${transports.join(" and as ")}: give each an address of its own`,
    );
  }
  if (!locations.some(({ transport }) => coreBindings.includes(transport ?? ""))) {
    problems.push(
      `the card of ${version} lists none of ${coreBindings.join(", ")}: mount one, or leave ${version} out of the versions`,
    );
  }
  return problems;
}
