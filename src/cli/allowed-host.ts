import { InvalidArgumentError, Option } from "commander";
import { addressPolicy } from "../binding/fetch/address-policy.js";

/** The option `--allowed-host` of the commands that serve. */
export function allowedHostOption(): Option {
  const description = "further host that requests may name on a loopback address; may be repeated";
  return new Option("--allowed-host <name>", description).default([], "none").argParser(addHost);
}

function addHost(host: string, hosts: readonly string[]): readonly string[] {
  try {
    addressPolicy([host], "--allowed-host");
  } catch {
    throw new InvalidArgumentError('It takes a host name without a port, such as "agents.example" or "*.example".');
  }
  return [...hosts, host];
}
