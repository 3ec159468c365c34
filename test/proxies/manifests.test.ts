import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { deployFile } from "./proxy.js";

// No cluster runs here: the manifests are held to the schemas of Kubernetes, and their times to those of the server.

const packages = fileURLToPath(new URL(".kubernetes", import.meta.url));
const isInstalled = existsSync(packages);
if (!isInstalled && process.env["CI"] === "true")
  throw new Error("kubernetes-validate is missing: test/proxies/setup.sh");

const validate = `
import sys, yaml, kubernetes_validate as k
for each in yaml.safe_load_all(open(sys.argv[1])):
    k.validate(each, k.latest_version(), strict=True)
    print(each["kind"])
`;

describe.skipIf(!isInstalled)("deploy/kubernetes.yaml", () => {
  it("deploy/kubernetes.yaml is valid", () => {
    const env = { ...process.env, PYTHONPATH: packages };
    const kinds = execFileSync("python3", ["-c", validate, deployFile("kubernetes.yaml")], { env, encoding: "utf8" });
    expect(kinds.trim().split("\n")).toEqual([
      "Deployment",
      "Service",
      "PodDisruptionBudget",
      "HorizontalPodAutoscaler",
      "NetworkPolicy",
    ]);
  });

  it("deploy/kubernetes.yaml gives a pod the time that its server needs to close", () => {
    const text = readFileSync(deployFile("kubernetes.yaml"), "utf8");
    const seconds = Number(/terminationGracePeriodSeconds: (\d+)/.exec(text)?.[1]);
    // preStop, lameDuckMs, connections, drainMs, graceMs.
    expect(seconds).toBeGreaterThanOrEqual(1 + 5 + 1 + 10 + 5 + 5);
  });
});
