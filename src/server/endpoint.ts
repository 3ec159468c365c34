import { cors } from "../binding/http/cors.js";
import type { HttpEndpoint, HttpRequest } from "../binding/http/http.js";
import { mount, mountRequest } from "../binding/http/mount.js";
import { type Binding, bindingNames, bindingRow } from "../protocol/bindings.js";
import { type BindingSetting, serverBindings } from "./bindings.js";
import type { BaseServerOptions } from "./options.js";

/** The served bindings, and their handlers. */
export interface EndpointOptions extends BindingSetting {
  readonly bindings: readonly Binding[];
  readonly card: HttpEndpoint;
}

/** The protocol's endpoints by path. Other requests are left to the surrounding server. */
export function createEndpoint(
  options: BaseServerOptions,
  { bindings, card, ...setting }: EndpointOptions,
): HttpEndpoint {
  const names = bindingNames.filter((name) => bindings.includes(name));
  const routes = names.map((name) => ({ ...serverBindings[name].routes?.(setting), path: bindingRow(name).path }));
  const below = routes.flatMap(({ path, below }) => (below ? { path, endpoint: mount(path, below) } : []));
  const root = routes.find((each) => each.root !== undefined)?.root;
  const beside = routes.flatMap((each) => each.beside ?? []);
  const route: HttpEndpoint = (received) => {
    const request = withoutSlash(received);
    const { path } = request;
    if (path.startsWith("/.well-known/")) return card(request);
    for (const each of below) {
      if (path.startsWith(each.path)) return each.endpoint(request);
    }
    // The base accepts calls; the application answers a browser's requests there.
    if (path === "/" || path === "") return request.method === "POST" ? root?.(request) : undefined;
    return firstReply(beside, request);
  };
  const endpoint = options.cors === undefined ? route : cors(route, options.cors);
  return mount(options.basePath ?? "", endpoint);
}

/** The request without a slash at the end of its path, which some clients and proxies add. */
function withoutSlash(request: HttpRequest): HttpRequest {
  const { path } = request;
  if (path.length < 2 || !path.endsWith("/")) return request;
  return mountRequest(request, path.slice(0, -1), request.mountPath);
}

function firstReply(endpoints: readonly HttpEndpoint[], request: HttpRequest): ReturnType<HttpEndpoint> {
  for (const endpoint of endpoints) {
    const reply = endpoint(request);
    if (reply !== undefined) return reply;
  }
  return undefined;
}
