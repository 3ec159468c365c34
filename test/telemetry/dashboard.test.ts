import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { instruments } from "../../src/telemetry/instruments.js";
import { prometheusName } from "../support/prometheus-name.js";

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const { panels } = JSON.parse(readFileSync("deploy/grafana/trivium.json", "utf8")) as {
  readonly panels: readonly Panel[];
};
const rows = Object.values(instruments);
const families = rows.map(prometheusName);
const labels = new Set(rows.flatMap(({ attributes }) => attributes.map((name) => name.replaceAll(".", "_"))));
const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));

/** The names of metrics in a query, without the suffixes of histograms. */
const metricsIn = (expr: string): readonly string[] =>
  (expr.replaceAll(/by \([^)]*\)/g, "").match(/\b(?:trivium|rpc|gen_ai|nodejs)_\w+(?=[{[)])/g) ?? []).map((name) =>
    name.replace(/_(?:bucket|sum|count)$/, ""),
  );

describe("the dashboard", () => {
  it.each(queries)("the dashboard asks for metrics that there are: $title, $expr", ({ expr }) => {
    const metrics = metricsIn(expr);
    expect(metrics.length).toBeGreaterThan(0);
    for (const name of metrics) expect(families).toContain(name);
    const named = [...expr.matchAll(/(?:by \((?:le, )?([^)]*)\))|(?:[{ ](\w+)(?:=~|!=|=)")/g)].flatMap(
      ([, by = "", label]) => [...by.split(/,\s*/), label ?? ""],
    );
    for (const label of named.filter((each) => each !== "" && each !== "le")) expect(labels).toContain(label);
  });

  it("the dashboard shows every metric of a server", () => {
    const shown = new Set(queries.flatMap(({ expr }) => metricsIn(expr)));
    const missing = families.filter((name) => !shown.has(name) && !/^(?:rpc_client|trivium_client)_/.test(name));
    expect(missing).toEqual([]);
  });

  it("the dashboard has a title and a description for each panel", () => {
    for (const panel of panels.filter(({ type }) => type !== "row")) {
      expect(panel).toMatchObject({ title: expect.stringMatching(/\S/), description: expect.stringMatching(/\S/) });
    }
  });
});
