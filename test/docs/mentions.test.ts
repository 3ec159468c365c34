import { globSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { namesOf } from "../support/source-texts.js";
import { documents, read, withoutBlocks } from "./pages.js";

// A name in the text of a page, such as `instanceTtlMs`, is one that the code has; so a name that is changed there is missed here.

/** Names of others. */
const ofOthers: readonly string[] = Object.values({
  python: [
    ...["AgentSkill", "AuthInterceptor", "BasePushNotificationSender", "CancelledError", "ClientCallInterceptor"],
    ...["EventQueue", "GrpcHandler", "PushNotificationConfigStore", "ServerCallContextBuilder", "TaskUpdater"],
  ],
  go: ["CardParser", "lastUpdatedAfter"],
  javascript: [
    ...["AuthenticationHandler", "DatabaseTaskStore", "DefaultRequestHandler", "InMemoryTaskStore", "UserBuilder"],
    ...["RequestMalformedError", "ServerCallContext", "grpcService", "jsonRpcHandler", "legacyCompat", "restHandler"],
    ...["resubscribeTask", "MyExecutor"],
  ],
  kubernetes: [
    ...["HorizontalPodAutoscaler", "PodDisruptionBudget", "maxUnavailable", "preStop", "terminationGracePeriodSeconds"],
  ],
  mesh: ["DownstreamTlsContext", "VirtualService", "appProtocol", "proxyMetadata"],
  tools: ["AssertionError", "ChatOpenAI", "PostgreSQL", "fullStream", "moduleResolution", "textStream"],
  fastify: ["onSend", "preHandler"],
  readers: ["portKey"],
}).flat();

const compound = /\b(?:[a-z]+[A-Z]|[A-Z][a-z]+[A-Z])\w*\b/g;

const sources = globSync(["src/**/*.ts", "examples/*/*.ts", "scripts/*.ts", "test/docs/ambient.d.ts"]);
const knownNames = new Set(sources.flatMap((file) => [...namesOf(file, read(file))]));

const namesIn = (page: string): ReadonlySet<string> =>
  new Set(
    [...withoutBlocks(read(page)).matchAll(/`([^`\n]+)`/g)].flatMap(([, code = ""]) => code.match(compound) ?? []),
  );

describe("the names in the text", () => {
  it.each(documents)("the names in the text of %s are in the source, or belong to others", (page) => {
    expect([...namesIn(page)].filter((name) => !knownNames.has(name) && !ofOthers.includes(name))).toEqual([]);
  });

  it("the names in the text that belong to others are all mentioned", () => {
    const mentioned = new Set(documents.flatMap((page) => [...namesIn(page)]));
    expect(ofOthers.filter((name) => !mentioned.has(name))).toEqual([]);
  });
});
