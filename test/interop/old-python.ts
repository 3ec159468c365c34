import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type BindingName, bindings } from "./cases.js";
import type { SdkAgent } from "./sdk-agents.js";

const path = (name: string): string => fileURLToPath(new URL(`python-old/${name}`, import.meta.url));

export type OldPythonName = "a2a-sdk 0.3" | "a2a-sdk 0.2" | "a2a-sdk 0.2.4" | "FastA2A";

/** A Python release that speaks an older version, as a client and as an agent. */
export interface OldPython {
  readonly name: OldPythonName;
  /** Its name on PyPI. */
  readonly distribution: string;
  readonly release: string;
  /** The protocol version it speaks. */
  readonly version: string;
  /** The bindings of its client. */
  readonly bindings: readonly BindingName[];
  readonly agentBindings: readonly BindingName[];
  readonly command: string;
  readonly clientProgram: string;
  /** `undefined` if it is tested only as a client. */
  readonly agent: SdkAgent | undefined;
  /** Whether `python-old/setup.sh` has installed it. */
  readonly installed: boolean;
}

interface Environment {
  readonly name: OldPythonName;
  readonly distribution: string;
  readonly version: string;
  readonly bindings: readonly BindingName[];
  /** Default: those of its client. */
  readonly agentBindings?: readonly BindingName[];
  /** The name of its environment and of its requirements file. */
  readonly key: string;
  /** The folder of its programs. */
  readonly folder: string;
  readonly isAgent: boolean;
}

function oldPython({ key, folder, isAgent, ...rest }: Environment): OldPython {
  const command = path(`.venv-${key}/bin/python`);
  const installed = existsSync(path(`.venv-${key}/bin/uvicorn`));
  const agent: SdkAgent = { name: "Python", command, options: [path(`${folder}/agent.py`)], installed };
  const pins = readFileSync(path(`requirements-${key}.txt`), "utf8");
  const release = new RegExp(`^${rest.distribution}==(.+)$`, "m").exec(pins)?.[1] ?? "none";
  const clientProgram = path(`${folder}/client.py`);
  const { agentBindings = rest.bindings } = rest;
  return { ...rest, agentBindings, release, command, clientProgram, installed, agent: isAgent ? agent : undefined };
}

const sdk = { distribution: "a2a-sdk", folder: "sdk" };

export const oldPythons: readonly OldPython[] = [
  oldPython({ ...sdk, name: "a2a-sdk 0.3", version: "0.3", bindings, key: "03", isAgent: true }),
  oldPython({
    ...sdk,
    name: "a2a-sdk 0.2",
    version: "0.2",
    bindings: ["JSONRPC"],
    agentBindings: ["JSONRPC", "GRPC"],
    key: "02",
    isAgent: true,
  }),
  // Its agent never answers with a message on Python before 3.13.
  oldPython({ ...sdk, name: "a2a-sdk 0.2.4", version: "0.2", bindings: ["JSONRPC"], key: "024", isAgent: false }),
  oldPython({
    name: "FastA2A",
    distribution: "fasta2a",
    version: "0.1",
    bindings: ["JSONRPC"],
    key: "01",
    folder: "fasta",
    isAgent: true,
  }),
];
