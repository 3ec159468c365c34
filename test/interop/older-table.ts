import { type BindingName, bindings } from "./cases.js";
import { clientCases } from "./client-cases.js";
import { errorCases } from "./client-errors.js";
import { deviations } from "./deviations.js";
import { olderAgents, type SdkAgent, titleOf } from "./sdk-agents.js";

const names = [...Object.keys(clientCases), ...errorCases.map(({ name }) => name)];

/** The table of older releases that speak 1.0, tested as agents: one row each, with a cell per binding. */
export function olderRows(): readonly string[] {
  return olderAgents.map((agent) => {
    const cells = bindings.map((binding) => counted(agent, binding));
    return `| ${agent.name} | ${agent.release} | ${cells.join(" | ")} |`;
  });
}

function counted(agent: SdkAgent, binding: BindingName): string {
  const title = titleOf(agent);
  const others = names.filter((name) =>
    deviations.some((row) => row.sdk === title && row.name === name && (row.binding ?? binding) === binding),
  );
  return `${names.length - others.length} of ${names.length}`;
}
