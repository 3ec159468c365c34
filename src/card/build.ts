import { clone, create } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema } from "../protocol/model.js";
import { assertNoProblems, cardProblems, interfaceProblems } from "./check.js";
import { extensionInit, skillInit } from "./extended.js";
import type { MountAddress } from "./mounts.js";
import type { CardOptions, SkillOptions } from "./options.js";
import { type CardSecurity, declareSecurity } from "./security.js";

const textOnly: readonly string[] = ["text/plain"];

/** The capabilities that are running. */
export interface RunningCapabilities {
  readonly streaming: boolean;
  readonly pushNotifications: boolean;
  /** Whether callers are authenticated, which an extended card needs (spec 3.1.11). */
  readonly authentication: boolean;
  /** Who may call. Default: nothing about it in the card. */
  readonly security?: CardSecurity | undefined;
}

export interface BuildOptions {
  readonly options: CardOptions;
  /** In order of preference. */
  readonly addresses: readonly MountAddress[];
  readonly capabilities: RunningCapabilities;
}

/** Builds the whole card. Throws a `CardError` that lists every contradiction. */
export function buildCard({ options, addresses, capabilities }: BuildOptions): AgentCard {
  assertNoProblems([...authorProblems(options, capabilities), ...interfaceProblems(addresses)]);
  return withInterfaces(describeCard(options, capabilities), addresses);
}

/**
 * Media types that the agent accepts, if its author listed any on the card or on a skill; otherwise `undefined`, and
 * nothing is refused.
 */
export function namedInputModes({ defaultInputModes, skills = [] }: CardOptions): readonly string[] | undefined {
  if (defaultInputModes === undefined && skills.every((skill) => skill.inputModes === undefined)) return undefined;
  const skillModes = skills.flatMap((skill) => skill.inputModes ?? []);
  return [...new Set([...(defaultInputModes ?? textOnly), ...skillModes])];
}

/** Problems of the author's options, by themselves and compared with what is running. */
export function authorProblems(options: CardOptions, capabilities: RunningCapabilities): readonly string[] {
  const problems = cardProblems(options);
  // Without TypeScript it may be any value: a non-object has only that problem.
  if (Object(options) !== options) return problems;
  const wishes = options.capabilities ?? {};
  const idle = (["streaming", "pushNotifications"] as const).filter(
    (name) => wishes[name] === true && !capabilities[name],
  );
  return [
    ...problems,
    ...idle.map((name) => `card.capabilities.${name} is true, but is not running: ${howToTurnOn[name]}`),
    ...(options.extended !== undefined && !capabilities.authentication
      ? ["card.extended needs authenticated callers: give `authenticate` as well, or leave card.extended out"]
      : []),
  ];
}

const howToTurnOn = {
  streaming: "mount a binding that streams, or leave the member out",
  pushNotifications: "give the option `push`, or leave the member out",
} as const;

/** The card without its interfaces, from options without problems. */
export function describeCard(options: CardOptions, capabilities: RunningCapabilities): AgentCard {
  const wishes = options.capabilities ?? {};
  const card = create(AgentCardSchema, {
    name: options.name,
    description: options.description,
    version: options.version,
    provider: options.provider && { ...options.provider },
    documentationUrl: options.documentationUrl,
    iconUrl: options.iconUrl,
    capabilities: {
      streaming: capabilities.streaming && wishes.streaming !== false,
      pushNotifications: capabilities.pushNotifications && wishes.pushNotifications !== false,
      extendedAgentCard: options.extended !== undefined,
      extensions: (options.extensions ?? []).map(extensionInit),
    },
    defaultInputModes: [...(options.defaultInputModes ?? textOnly)],
    defaultOutputModes: [...(options.defaultOutputModes ?? textOnly)],
    skills: listSkills(options).map(skillInit),
  });
  return capabilities.security === undefined ? card : declareSecurity(card, capabilities.security);
}

/** The skills of the card; without any, one that is named like the agent. */
export function listSkills(options: CardOptions): readonly SkillOptions[] {
  return options.skills ?? [defaultSkill(options)];
}

function defaultSkill({ name, description }: CardOptions): SkillOptions {
  const words = name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["agent"];
  return { id: words.join("-"), name, description, tags: [...new Set(words)] };
}

/** A copy of the card with interfaces at these addresses, which have no problems. */
export function withInterfaces(card: AgentCard, addresses: readonly MountAddress[]): AgentCard {
  const { supportedInterfaces } = create(AgentCardSchema, {
    supportedInterfaces: addresses.map(({ binding, url, version, tenant = "" }) => ({
      url,
      protocolBinding: binding,
      protocolVersion: version,
      tenant,
    })),
  });
  return Object.assign(clone(AgentCardSchema, card), { supportedInterfaces });
}
