import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { VersionName } from "../../src/version/versions.js";
import type { BindingName } from "./cases.js";
import type { OldCaseName } from "./old-js-and-go-cases.js";
import type { Sdk } from "./sdk.js";
import type { SdkAgent } from "./sdk-agents.js";

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** An older SDK: a program that runs its client cases, and one that serves an agent. */
export interface OldSdk {
  /** The package and its release, as pinned in `js-old/package.json` or a `go.mod`. */
  readonly name: string;
  /** The protocol version it speaks. */
  readonly version: VersionName;
  readonly bindings: readonly BindingName[];
  readonly client: Sdk;
  readonly agent: SdkAgent;
  /** Cases that its client cannot express, with the reason. */
  readonly without?: Readonly<Partial<Record<OldCaseName, string>>>;
}

function javaScript(name: string, version: VersionName, more: Pick<OldSdk, "bindings" | "without">): OldSdk {
  const installed = existsSync(path(`js-old/node_modules/${version === "0.1" ? "a2a-js" : `sdk-${version}`}`));
  const command = process.execPath;
  const sdk = ["--sdk", version];
  return {
    name,
    version,
    client: { name, command, program: [path("js-old/client.mjs"), ...sdk], installed },
    agent: { name: "JavaScript", command, options: [path("js-old/agent.mjs"), ...sdk], installed },
    ...more,
  };
}

function go(name: string, version: VersionName, more: Pick<OldSdk, "bindings" | "without">): OldSdk {
  const program = (role: string): string => path(`go-old/bin/${role}${version.replace(".", "")}`);
  return {
    name,
    version,
    client: { name, command: program("client"), program: [], installed: existsSync(program("client")) },
    agent: { name: "Go", command: program("agent"), options: [], installed: existsSync(program("agent")) },
    ...more,
  };
}

export const oldJs: readonly OldSdk[] = [
  javaScript("@a2a-js/sdk 0.3.14", "0.3", { bindings: ["JSONRPC", "HTTP+JSON", "GRPC"] }),
  javaScript("@a2a-js/sdk 0.2.5", "0.2", {
    bindings: ["JSONRPC"],
    without: {
      "extended-card": "it does not ask for one",
      "error-extended-card": "it does not ask for one",
      extensions: "it names none",
      "push-list": "it neither lists nor deletes them",
      "error-push": "it does not ask an agent whose card does not offer push",
      "error-push-missing": "it cannot name a configuration",
    },
  }),
  javaScript("a2a-js 0.2.0", "0.1", { bindings: ["JSONRPC"] }),
];

export const oldGo: readonly OldSdk[] = [
  go("github.com/a2aproject/a2a-go v0.3.15", "0.3", { bindings: ["JSONRPC", "GRPC"] }),
  go("trpc.group/trpc-go/trpc-a2a-go v0.2.5", "0.2", {
    bindings: ["JSONRPC"],
    without: {
      "push-list": "it neither lists nor deletes them",
      "error-subscribe-missing": "it passes over errors that come in a stream",
      "error-stream-missing": "it passes over errors that come in a stream",
    },
  }),
  go("trpc.group/trpc-go/trpc-a2a-go v0.0.3", "0.1", {
    bindings: ["JSONRPC"],
    without: {
      subscribe: "it has no such call",
      "error-subscribe-missing": "it has no such call",
    },
  }),
];
