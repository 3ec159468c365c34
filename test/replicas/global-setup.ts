import type { TestProject } from "vitest/node";
import { hasPostgres, startPostgres } from "../support/postgres.js";

/** Starts one PostgreSQL server for all files. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!hasPostgres) {
    project.provide("postgres", undefined);
    return undefined;
  }
  // Nothing cuts its power, so it needs no fsync.
  const server = await startPostgres({ settings: { fsync: "off", max_connections: "300" } });
  project.provide("postgres", server.url);
  return async () => {
    await server[Symbol.asyncDispose]();
  };
}
