import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The page on which a caller authorizes an agent. */
export interface ConsentPage {
  /** The page for a task. */
  urlFor(task: { readonly taskId: string; readonly owner: string }): string;
}

/** Serves the page on a port of its own: whoever reads it has authorized, and `granted` is told. */
export async function openConsentPage(
  granted: (taskId: string, owner: string) => Promise<unknown>,
): Promise<ConsentPage> {
  const server = createServer(async ({ url = "" }, response) => {
    const { searchParams } = new URL(url, "http://127.0.0.1");
    await granted(searchParams.get("task") ?? "", searchParams.get("owner") ?? "");
    response.end("thank you");
  });
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    urlFor: ({ taskId, owner }) => `http://127.0.0.1:${port}/consent?${new URLSearchParams({ task: taskId, owner })}`,
  };
}
