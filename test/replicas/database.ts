import pg from "pg";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** The server that all files share, or `undefined` if none is installed. */
    readonly postgres: string | undefined;
  }
}

/** The superuser's URL of the server that the files of these suites share. */
function sharedServer(): string {
  const url = inject("postgres");
  if (url === undefined) throw new Error("no PostgreSQL server is installed");
  return url;
}

let databaseCount = 0;

/** Creates an empty database on the shared server. */
export async function newDatabase(): Promise<string> {
  const name = `replicas_${process.pid}_${databaseCount++}`;
  await query(sharedServer(), `create database ${name} template template0`);
  const url = new URL(sharedServer());
  url.pathname = `/${name}`;
  return url.href;
}

export async function query(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
