import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** A site whose page loads the client as an application would, bundled and split. */
export interface Site extends AsyncDisposable {
  readonly origin: string;
  /** The requested paths. */
  readonly loaded: readonly string[];
  /** Returns the files that contain a source module. */
  filesWith(module: string): readonly string[];
}

/** Each load of the page requests its scripts again. */
const script = { "Content-Type": "text/javascript", "Cache-Control": "no-store" };
const html = '<!doctype html><meta charset="utf-8"><title>client</title><script type="module" src="/page.js"></script>';

/** Serves the page and its worker. `act` does what a scenario asks for. */
export async function startSite(act: (what: string) => Promise<void>): Promise<Site> {
  const { files, modules } = await bundled();
  const loaded: string[] = [];
  const server = createServer((request, response) => {
    const { method, url = "/" } = request;
    if (method === "POST") {
      act(url.slice("/ask/".length)).then(
        () => response.end(),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
      return;
    }
    loaded.push(url);
    const code = files.get(url);
    if (code !== undefined) response.writeHead(200, script).end(code);
    else if (url === "/") response.writeHead(200, { "Content-Type": "text/html" }).end(html);
    else response.writeHead(404).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    loaded,
    filesWith: (module) =>
      [...modules].filter(([, held]) => held.some((id) => id.endsWith(module))).map(([url]) => url),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function bundled() {
  const bundle = await rolldown({
    input: { page: path("page.ts"), worker: path("worker.ts") },
    platform: "browser",
    tsconfig: false,
    transform: { target: "es2022" },
    resolve: {
      alias: { "trivium/client": path("../../src/client/index.ts") },
      extensionAlias: { ".js": [".ts", ".js"] },
    },
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  const chunks = output.filter((file) => file.type === "chunk");
  return {
    files: new Map(chunks.map(({ fileName, code }) => [`/${fileName}`, code])),
    modules: new Map(chunks.map(({ fileName, moduleIds }) => [`/${fileName}`, moduleIds])),
  };
}
