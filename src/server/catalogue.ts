import { cors } from "../binding/http/cors.js";
import type { HttpEndpoint, HttpReply, HttpRequest } from "../binding/http/http.js";
import { plainReply } from "../binding/http/http.js";
import { chooseRequestId, requestIdParameter } from "../binding/request-id.js";
import type { CallHead, LimitedCall } from "../binding/service.js";
import { cacheRecent, type EncodedBody, encode, isFresh } from "../card/cached-reply.js";
import { createLocations } from "../card/urls.js";
import { A2AError, errorTable } from "../protocol/errors.js";
import { trimSlashes } from "../protocol/http-routes.js";
import type { AgentCard } from "../protocol/model.js";
import { isAuthenticated } from "./authentication.js";
import { type Catalogue, type DirectoryEntry, toPath } from "./directory.js";
import type { SharedParts } from "./multi-agent.js";

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

/** How long a list that all callers share may be used without another request, in seconds. */
const maxAgeSeconds = 10;
/** How many lists are kept: for each address of the server, and for callers that see different agents. */
const listMax = 16;

type CatalogueParts = Pick<SharedParts, "options" | "directory" | "arrivals" | "address">;

/** Opens the list of the agents. `rest` refuses requests that may not reach this port. */
export function openCatalogue(parts: CatalogueParts, rest: HttpEndpoint | undefined): Catalogue {
  const list = listEndpoint(parts);
  const endpoint: HttpEndpoint = (request) => rest?.(request) ?? list(request);
  const { cors: corsOptions } = parts.options;
  return {
    endpoint: corsOptions === undefined ? endpoint : cors(endpoint, corsOptions),
    visiblePaths: (request) => listPaths(request, parts),
  };
}

/**
 * Lists the agents of a server, as JSON or, for browsers, as a page. An agent that requires a sign-in is listed for callers
 * that it lets in. Requests count as requests of their address, where those are limited. Each list is made once.
 */
function listEndpoint(parts: CatalogueParts): HttpEndpoint {
  const { publicUrl, trustProxy, basePath = "" } = parts.options;
  const defaultAddress = (): { readonly origin: string; readonly mountPath: string } => ({
    origin: parts.address().origin,
    mountPath: trimSlashes(basePath),
  });
  const locations = createLocations({ publicUrl, trustProxy, basePath }, defaultAddress);
  const openLists = createListCache(parts);
  return async (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return plainReply(405, "the list of agents is read by GET or HEAD", { Allow: "GET, HEAD" });
    }
    const location = locations.locationFor(request);
    if (location === undefined) return plainReply(400, "the request names a host that cannot be one");
    const head = readHead(request);
    const refusal = parts.arrivals && (await refuseArrival(parts.arrivals(head)));
    if (refusal !== undefined) return refusal;
    const lists = openLists();
    const entries = await findVisible(head, parts);
    const isPage = prefersPage(request.header("accept"));
    const key = [location.base, isPage, ...entries.map(({ path }) => path)].join("\n");
    const { body, etag } = lists(key, () => encode(writeList(entries, location.base, isPage)));
    const headers = { ...describeCaching(parts, locations.varyBy), ETag: etag, "X-Content-Type-Options": "nosniff" };
    if (isFresh(request, { etag })) return { status: 304, headers, body: undefined };
    const type = isPage ? "text/html; charset=utf-8" : "application/json";
    const securityHeaders = isPage ? { "Content-Security-Policy": policy } : {};
    return { status: 200, headers: { ...headers, "Content-Type": type, ...securityHeaders }, body };
  };
}

/** The paths of the agents that the list has for a caller. None for one whose address is over a limit. */
async function listPaths(request: HttpRequest, parts: CatalogueParts): Promise<readonly string[]> {
  const head = readHead(request);
  if (parts.arrivals !== undefined && (await refuseArrival(parts.arrivals(head))) !== undefined) return [];
  return (await findVisible(head, parts)).map(({ path }) => path);
}

/** The lists of the present agents. */
function createListCache({ directory }: CatalogueParts): () => (key: string, make: () => EncodedBody) => EncodedBody {
  let revision = directory.revision;
  let lists = cacheRecent<EncodedBody>(listMax);
  return () => {
    if (revision !== directory.revision) lists = cacheRecent<EncodedBody>(listMax);
    revision = directory.revision;
    return lists;
  };
}

/** Credentials may be in any header, so caches have to revalidate the list each time. */
function describeCaching(
  { directory, options }: CatalogueParts,
  varyBy: readonly string[],
): Readonly<Record<string, string>> {
  const isOpen = ![options, ...directory.entries.map(({ options }) => options)].some(isAuthenticated);
  if (isOpen) return { "Cache-Control": `public, max-age=${maxAgeSeconds}`, Vary: ["Accept", ...varyBy].join(", ") };
  return { "Cache-Control": "private, no-cache", Vary: ["Accept", "Authorization", ...varyBy].join(", ") };
}

/** Counts a request for its address. Returns the reply to one that is over a limit. */
async function refuseArrival(call: LimitedCall): Promise<HttpReply | undefined> {
  try {
    await call.arrive();
    return undefined;
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    const { code, message, retryAfterMs = 0 } = error;
    const headers = { ...call.fields, "Retry-After": `${Math.ceil(retryAfterMs / 1000)}` };
    return plainReply(errorTable[code].http, message, headers);
  }
}

/** The agents whose callers include this one. */
async function findVisible(head: CallHead, { directory }: CatalogueParts): Promise<readonly DirectoryEntry[]> {
  const { entries } = directory;
  // Agents that share an authentication have the same callers.
  const answers = new Map<string, Promise<boolean>>();
  const visible = await Promise.all(
    entries.map((entry) => {
      const answer = answers.get(entry.realm) ?? isLetIn(head, entry);
      answers.set(entry.realm, answer);
      return answer;
    }),
  );
  return entries.filter((_, index) => visible[index] === true);
}

async function isLetIn(head: CallHead, { destination: { service } }: DirectoryEntry): Promise<boolean> {
  const request = { requestId: chooseRequestId(head.header(requestIdParameter)) };
  try {
    await service.authenticate(head, request);
    return true;
  } catch (error) {
    // Logs the error: the catalogue shows none to its caller.
    service.publicError(error, request);
    return false;
  }
}

function readHead(request: HttpRequest): CallHead {
  return {
    binding: "HTTP+JSON",
    header: request.headers(),
    query: request.query,
    peer: () => request.remoteAddress,
    certificate: () => request.certificate,
  };
}

function writeList(entries: readonly DirectoryEntry[], base: string, isPage: boolean): string {
  const agents = entries.map((entry) => listEntry(entry, base));
  return isPage ? page(agents) : JSON.stringify({ agents });
}

function listEntry({ path, agent, options }: DirectoryEntry, base: string): ListedAgent {
  const { name, description, version }: AgentCard = agent.card.card();
  const url = options.publicUrl === undefined ? `${base}${path}` : trimSlashes(options.publicUrl);
  return { path: toPath(path), name, description, version, url, card: `${url}/.well-known/agent-card.json` };
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
      `<li><strong>${escapeHtml(name)}</strong> <small>${escapeHtml(version)}</small><p>${escapeHtml(description)}</p>` +
      `<p><code>${escapeHtml(url)}</code> · <a href="${escapeHtml(card)}">card</a></p></li>`,
  );
  const list = agents.length === 0 ? "<p>No agents.</p>" : `<ul>${items.join("")}</ul>`;
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Agents</title><style>${style}</style><h1>Agents</h1>${list}</html>\n`;
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => entities[sign] ?? sign);
}
