import { type BindingName, bindings } from "./cases.js";
import { type OldPython, oldPythons } from "./old-python.js";
import { casesAtSdk, type OldCase } from "./old-python-agents.js";
import { fastaCases, sdkCases } from "./old-python-cases.js";
import { agentDeviations, clientDeviations, deviationOf, type Place } from "./old-python-deviations.js";
import { casesAtFastA2A } from "./old-python-fasta.js";

/** Returns the cases of a release's client, by name. */
export function casesAsClient({ version }: OldPython): Readonly<Record<string, string>> {
  return version === "0.1" ? fastaCases : sdkCases;
}

/** Returns the cases of our client at an agent on a release. */
export function casesAsAgent({ version }: OldPython): readonly OldCase[] {
  return version === "0.1" ? casesAtFastA2A : casesAtSdk;
}

/** The table of tested releases by role: one row each, with a cell per binding. */
export function triedRows(): readonly string[] {
  return oldPythons.flatMap((python) => {
    const names = casesAsAgent(python).map(({ name }) => name);
    const asAgent = { ...python, bindings: python.agentBindings };
    const agent = row(asAgent, "agent", (binding) => counted(names, agentDeviations, { python, binding }));
    const own = Object.keys(casesAsClient(python));
    const client = row(python, "client", (binding) => counted(own, clientDeviations, { python, binding }));
    return python.agent === undefined ? [client] : [client, agent];
  });
}

function row(python: OldPython, role: string, cell: (binding: BindingName) => string): string {
  const { distribution, release, version } = python;
  const cells = bindings.map((binding) => (python.bindings.includes(binding) ? cell(binding) : ""));
  return `| \`${distribution}\` | ${release} | ${version} | ${role} | ${cells.join(" | ")} |`;
}

interface Cell {
  readonly python: OldPython;
  readonly binding: BindingName;
}

function counted(names: readonly string[], deviations: readonly Place[], { python, binding }: Cell): string {
  const others = names.filter((name) => deviationOf(deviations, { release: python.name, binding, name }) !== undefined);
  return others.length === 0 ? `all ${names.length}` : `${names.length - others.length} of ${names.length}`;
}
