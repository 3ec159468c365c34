import type { ClientTls } from "../../binding/fetch/client-tls.js";
import { isObject } from "../../protocol/kinds.js";
import { ask } from "./ask.js";
import { type Finding, findings } from "./finding.js";

export interface ReadinessCheck {
  readonly url: string;
  readonly timeoutMs: number;
  readonly tls?: ClientTls | undefined;
}

/** The server's status at `/readyz`, and the findings about it. */
export interface ServerReadiness {
  /** `undefined` if no server of Trivium answers. */
  readonly status: Status | undefined;
  readonly findings: readonly Finding[];
}

type Status = keyof typeof unready | "ready";

const unready = {
  draining: [
    "it is draining: it refuses new work and shuts down",
    "wait for its replacement; if there is none, start one",
  ],
  "store-away": [
    "its store fails or does not answer in time, so it refuses work",
    "run trivium doctor --store on the server's machine, and read the server's log",
  ],
  overloaded: [
    "it is overloaded, so it refuses work",
    "add replicas, or memory and processors; its log says which is short",
  ],
} as const satisfies Record<string, readonly [seen: string, remedy: string]>;

/** Asks the server whether it takes work. Reports nothing if the server does not answer: other checks do that. */
export async function checkReadiness({ url, timeoutMs, tls }: ReadinessCheck): Promise<ServerReadiness> {
  const { ok, failed, skipped } = findings("readiness");
  const { origin } = new URL(url);
  const answer = await ask(`${origin}/readyz`, { method: "GET", timeoutMs, tls }).catch(() => undefined);
  if (answer === undefined) return { status: undefined, findings: [] };
  const body = readBody(answer.body);
  if (body === undefined) {
    const seen = `${origin}/readyz answers with ${answer.status}, not from Trivium: another server answers, or a proxy does not pass /readyz`;
    return { status: undefined, findings: [skipped(seen)] };
  }
  const { status } = body;
  const finding = status === "ready" ? ok("the server takes work") : failed(unready[status][0], unready[status][1]);
  return { status, findings: body.forwarded === "ignored" ? [finding, oneAddress()] : [finding] };
}

function oneAddress(): Finding {
  return findings("caller addresses").warning(
    "a proxy reports the addresses of callers, and the server does not trust it: all callers have the proxy's address, and share the limits by address",
    'set trustProxy to the addresses of your proxies, as ["10.0.0.0/8"]',
  );
}

interface Body {
  readonly status: Status;
  readonly forwarded?: unknown;
}

function readBody(text: string): Body | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return isBody(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

function isBody(json: unknown): json is Body {
  if (!isObject(json) || !("status" in json)) return false;
  return json.status === "ready" || (typeof json.status === "string" && Object.hasOwn(unready, json.status));
}
