import type { TestProject } from "vitest/node";
import { hasPostgres, startPostgres } from "../support/postgres.js";

/** One server of PostgreSQL for all files. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!hasPostgres) {
    project.provide("postgres", undefined);
    return undefined;
  }
  // Nobody cuts its power.
  const server = await startPostgres({ settings: { fsync: "off", max_connections: "300" } });
  project.provide("postgres", server.url);
  return async () => {
    await server[Symbol.asyncDispose]();
  };
}
