import type { PeerCertificate, ReadHeader } from "../../protocol/context.js";
import { trimSlashes } from "../../protocol/http-routes.js";
import type { HttpEndpoint, HttpRequest } from "./http.js";

// Where an endpoint is mounted. Some frameworks cut the mount path off a request and some do not; the URLs of the card
// need it in both cases.

/** The path where an endpoint is mounted, and the rest of the request's path below it. */
export interface MountedPath {
  /** Percent-encoded, without a trailing slash; `""` at the root. */
  readonly mountPath: string;
  readonly path: string;
}

/**
 * The place of a request. `path` is what the framework left, `original` the path as it arrived, and `basePath` what the
 * program says. `undefined` if the request is not below `basePath`.
 */
export function toMountedPath(path: string, original: string, basePath: string | undefined): MountedPath | undefined {
  const prefix = findPrefix(path, original);
  if (basePath === undefined) return { mountPath: prefix, path };
  const base = trimSlashes(basePath);
  const rest = findPathBelow(base, path);
  if (rest !== undefined) return { mountPath: prefix + base, path: rest };
  const pathBelow = findPathBelow(base, original);
  return pathBelow === undefined ? undefined : { mountPath: base, path: pathBelow };
}

/** The prefix that was cut off `original`; `""` if the framework rewrote the path in another way. */
function findPrefix(path: string, original: string): string {
  if (path === original) return "";
  if (path === "" || (path === "/" && !original.endsWith("/"))) return trimSlashes(original);
  return original.endsWith(path) ? original.slice(0, -path.length) : "";
}

/** The rest of a path below a prefix without a trailing slash; `undefined` if it is elsewhere. */
export function findPathBelow(prefix: string, path: string): string | undefined {
  if (!path.startsWith(prefix)) return undefined;
  const rest = path.slice(prefix.length);
  return rest === "" || rest.startsWith("/") ? rest : undefined;
}

/** The first segments of a path, as many as a route pattern has: `/agents/a` for `/agents/:name`. */
export function firstSegments(path: string, pattern: string): string {
  const count = trimSlashes(pattern).split("/").length;
  return path.split("/").slice(0, count).join("/");
}

/** Mounts an endpoint below a path prefix such as `/json-rpc`. Returns `undefined` for other paths. */
export function mount(prefix: string, endpoint: HttpEndpoint): HttpEndpoint {
  const root = trimSlashes(prefix);
  if (root === "") return endpoint;
  return (request) => {
    const rest = findPathBelow(root, request.path);
    return rest === undefined ? undefined : endpoint(new RequestBelow(request, rest));
  };
}

/** The request as an endpoint sees it that is mounted at `mountPath`, with the rest of its path. */
export function mountRequest(request: HttpRequest, path: string, mountPath: string | undefined): HttpRequest {
  return new RequestBelow(request, path, mountPath);
}

class RequestBelow implements HttpRequest {
  readonly path: string;
  readonly mountPath: string;
  readonly #above: HttpRequest;

  constructor(above: HttpRequest, path: string, mountPath = above.mountPath) {
    this.#above = above;
    this.path = path;
    this.mountPath = mountPath;
  }

  get method(): string {
    return this.#above.method;
  }

  get native(): unknown {
    return this.#above.native;
  }

  get query(): string {
    return this.#above.query;
  }

  get secure(): boolean {
    return this.#above.secure;
  }

  get remoteAddress(): string | undefined {
    return this.#above.remoteAddress;
  }

  get isParsed(): boolean {
    return this.#above.isParsed;
  }

  get certificate(): PeerCertificate | undefined {
    return this.#above.certificate;
  }

  header(name: string): string | undefined {
    return this.#above.header(name);
  }

  headers(): ReadHeader {
    return this.#above.headers();
  }

  body(maxBytes: number, onPiece: (piece: Uint8Array) => void): Promise<Uint8Array> {
    return this.#above.body(maxBytes, onPiece);
  }

  onLeave(listener: () => void): void {
    this.#above.onLeave(listener);
  }
}
