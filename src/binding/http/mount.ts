import type { PeerCertificate, ReadHeader } from "../../protocol/context.js";
import { trimSlashes } from "../../protocol/http-rules.js";
import type { HttpEndpoint, HttpRequest } from "./http.js";
import { restBelow } from "./mount-path.js";

/** Mounts an endpoint below a path prefix such as `/json-rpc`. Returns `undefined` for other paths. */
export function mount(prefix: string, endpoint: HttpEndpoint): HttpEndpoint {
  const root = trimSlashes(prefix);
  if (root === "") return endpoint;
  return (request) => {
    const rest = restBelow(root, request.path);
    return rest === undefined ? undefined : endpoint(new RequestBelow(request, rest));
  };
}

/** The request as an endpoint sees it that is mounted at `mountPath`, with the rest of its path. */
export function requestBelow(request: HttpRequest, path: string, mountPath: string | undefined): HttpRequest {
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
