import { instruments } from "../../src/telemetry/instruments.ts";

/** Every metric, as the table of instruments has it. */
export function metricRows(): string {
  const lines = Object.values(instruments).map(({ name, kind, unit, description, attributes }) => {
    const attributeList = attributes.map((attribute) => `\`${attribute}\``).join(", ");
    return `| \`${name}\` | ${kind} | \`${unit}\` | ${description} | ${attributeList || "none"} |`;
  });
  return ["| name | kind | unit | meaning | attributes |", "|---|---|---|---|---|", ...lines].join("\n");
}
