import { type BindingName, bindings } from "./cases.js";
import { type OldSdk, oldGo, oldJs } from "./old-js-and-go.js";
import { casesOf } from "./old-js-and-go-cases.js";
import { oldClientCases } from "./old-js-and-go-client-cases.js";
import { agentDeviations, clientDeviations } from "./old-js-and-go-deviations.js";

/** The table of tested SDKs by role: one row each, with a cell per binding. */
export function triedRows(): readonly string[] {
  return [...oldJs, ...oldGo].flatMap((sdk) => [
    row(sdk, "client", (binding) => {
      const names = Object.keys(casesOf(sdk.version)).filter((name) => !Object.hasOwn(sdk.without ?? {}, name));
      return counted(names, clientDeviations.filter(isOf(sdk, binding)));
    }),
    row(sdk, "agent", (binding) =>
      counted(Object.keys(oldClientCases(sdk.version)), agentDeviations.filter(isOf(sdk, binding))),
    ),
  ]);
}

function row({ name, version, bindings: own }: OldSdk, role: string, cell: (binding: BindingName) => string): string {
  const [sdk, release = ""] = name.split(" ");
  const cells = bindings.map((binding) => (own.includes(binding) ? cell(binding) : ""));
  return `| \`${sdk}\` | ${release} | ${version} | ${role} | ${cells.join(" | ")} |`;
}

function isOf(sdk: OldSdk, binding: BindingName) {
  return (row: { readonly sdk: string; readonly binding?: BindingName; readonly name: string }): boolean =>
    row.sdk === sdk.name && (row.binding ?? binding) === binding;
}

function counted(names: readonly string[], deviations: readonly { readonly name: string }[]): string {
  const others = deviations.filter(({ name }) => names.includes(name)).length;
  return others === 0 ? `all ${names.length}` : `${names.length - others} of ${names.length}`;
}
