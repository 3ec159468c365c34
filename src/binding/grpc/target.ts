import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { dynamic } from "../../protocol/codec/outline/dynamic.js";
import { isObject } from "../../protocol/kinds.js";
import type { AddressedService, Service } from "../service.js";
import { groupByPath, type ServedPath } from "./method.js";

/** The service at an address, with its RPCs by path. */
export interface GrpcTarget {
  readonly service: Service;
  readonly paths: ReadonlyMap<string, ServedPath>;
  readonly destination: AddressedService;
}

/** Returns the targets of addresses, each made once. */
export function createTargets(): (destination: AddressedService) => GrpcTarget {
  const targets = new WeakMap<AddressedService, GrpcTarget>();
  return (destination) => {
    const cachedTarget = targets.get(destination);
    if (cachedTarget !== undefined) return cachedTarget;
    const { service, versions } = destination;
    const adapters = versions.flatMap(({ grpc }) => grpc ?? []);
    const target = { service, paths: groupByPath(adapters), destination };
    targets.set(destination, target);
    return target;
  };
}

/** The agent that a request named by its tenant. */
export interface NamedAgent {
  readonly destination: AddressedService;
  /** Its name; replies put it before their tenant. */
  readonly name: string;
}

/** Finds the agent that a request names, and takes the name off its tenant. Throws for an unknown name. */
export function resolveAgentName(
  wire: AnyMessage,
  resolveTenant: NonNullable<AddressedService["resolveTenant"]>,
): NamedAgent {
  const request = dynamic(wire);
  const { tenant } = request;
  const { name, rest, destination } = resolveTenant(typeof tenant === "string" ? tenant : "");
  if (name === "") return { name, destination };
  request["tenant"] = rest;
  const configuration = request["configuration"];
  const inline = isObject(configuration) ? configuration["taskPushNotificationConfig"] : undefined;
  if (isObject(inline) && typeof inline["tenant"] === "string") inline["tenant"] = withoutName(name, inline["tenant"]);
  return { name, destination };
}

/** Puts the name back before the tenants of a reply, so that callers may use them in their next requests. */
export function prefixTenants(wire: AnyMessage, name: string): AnyMessage {
  if (name === "") return wire;
  const { tenant, configs } = dynamic(wire);
  if (typeof tenant === "string") return { ...wire, tenant: withName(name, tenant) } as AnyMessage;
  if (!Array.isArray(configs)) return wire;
  return { ...wire, configs: configs.map((config: AnyMessage) => prefixTenants(config, name)) } as AnyMessage;
}

/** The rest of a tenant below an agent's name; a tenant of another form stays. */
function withoutName(name: string, tenant: string): string {
  if (tenant === name) return "";
  return tenant.startsWith(`${name}/`) ? tenant.slice(name.length + 1) : tenant;
}

function withName(name: string, tenant: string): string {
  return tenant === "" ? name : `${name}/${tenant}`;
}
