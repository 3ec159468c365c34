import type { HttpEndpoint, HttpReply, HttpRequest } from "../../binding/http/http.js";
import { requestIdOf, requestIdParameter } from "../../binding/request-id.js";
import type { Caller } from "../../card/proxy.js";
import { createLocations } from "../../card/urls.js";
import { trimmed } from "../../protocol/http-rules.js";
import type { AgentCard } from "../../protocol/model.js";
import { pathOf } from "./merged-options.js";
import type { ServedEntry, SharedParts } from "./shared-parts.js";

/** One agent in the list, in its JSON form. */
interface ListedAgent {
  readonly path: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly url: string;
  /** The URL of its card. */
  readonly card: string;
}

/**
 * Lists the agents of a server, as JSON or, for browsers, as a page. An agent that requires a sign-in is listed for callers
 * that it lets in.
 */
export function catalogueEndpoint(shared: SharedParts): HttpEndpoint {
  const { publicUrl, trustProxy, basePath = "" } = shared.options;
  const own = (): { readonly origin: string; readonly mountPath: string } => ({
    origin: shared.address().origin,
    mountPath: trimmed(basePath),
  });
  const locations = createLocations({ publicUrl, trustProxy, basePath }, own);
  const vary = ["Accept", "Authorization", ...locations.varyBy].join(", ");
  return async (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return plain(405, "the list of agents is read by GET or HEAD", { Allow: "GET, HEAD" });
    }
    const location = locations.of(request);
    if (location === undefined) return plain(400, "the request names a host that cannot be one");
    const entries = await visibleTo(request, shared);
    const agents = entries.map((entry) => listed(entry, location.base, request));
    const isPage = prefersPage(request.header("accept"));
    const type = isPage ? "text/html; charset=utf-8" : "application/json";
    const headers = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", Vary: vary };
    return {
      status: 200,
      headers: { ...headers, "Content-Type": type, ...(isPage ? { "Content-Security-Policy": policy } : {}) },
      body: isPage ? page(agents) : JSON.stringify({ agents }),
    };
  };
}

/** The agents whose callers include this one. */
async function visibleTo(request: HttpRequest, { directory }: SharedParts): Promise<readonly ServedEntry[]> {
  // Agents that share an authentication have the same callers.
  const asked = new Map<string, Promise<boolean>>();
  const seen = await Promise.all(
    directory.entries.map((entry) => {
      const answer = asked.get(entry.realm) ?? isLetIn(request, entry);
      asked.set(entry.realm, answer);
      return answer;
    }),
  );
  return directory.entries.filter((_, index) => seen[index] === true);
}

async function isLetIn(request: HttpRequest, { addressed: { service } }: ServedEntry): Promise<boolean> {
  const header = request.headers();
  const head = {
    binding: "HTTP+JSON" as const,
    header,
    query: request.query,
    peer: () => request.remoteAddress,
    certificate: () => request.certificate,
  };
  try {
    await service.authenticate(head, { requestId: requestIdOf(header(requestIdParameter)) });
    return true;
  } catch {
    return false;
  }
}

function listed({ path, agent, own }: ServedEntry, base: string, caller: Caller): ListedAgent {
  const { name, description, version }: AgentCard = agent.card.card(caller);
  const url = own.publicUrl === undefined ? `${base}${path}` : trimmed(own.publicUrl);
  return { path: pathOf(path), name, description, version, url, card: `${url}/.well-known/agent-card.json` };
}

/** Whether a caller, such as a browser, asks for a page rather than for JSON. */
function prefersPage(accept = ""): boolean {
  const types = accept
    .toLowerCase()
    .split(",")
    .map((each) => each.split(";", 1)[0]?.trim());
  const page = types.indexOf("text/html");
  const json = types.indexOf("application/json");
  return page !== -1 && (json === -1 || page < json);
}

const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

const style =
  ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}" +
  "li{margin:0 0 1.25rem}ul{list-style:none;padding:0}code,small{opacity:.75}p{margin:.2rem 0}";

function page(agents: readonly ListedAgent[]): string {
  const items = agents.map(
    ({ name, version, description, url, card }) =>
      `<li><strong>${escaped(name)}</strong> <small>${escaped(version)}</small><p>${escaped(description)}</p>` +
      `<p><code>${escaped(url)}</code> · <a href="${escaped(card)}">card</a></p></li>`,
  );
  const list = agents.length === 0 ? "<p>No agents.</p>" : `<ul>${items.join("")}</ul>`;
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Agents</title><style>${style}</style><h1>Agents</h1>${list}</html>\n`;
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => entities[sign] ?? sign);
}

function plain(status: number, message: string, headers: Readonly<Record<string, string>> = {}): HttpReply {
  return { status, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers }, body: `${message}\n` };
}
