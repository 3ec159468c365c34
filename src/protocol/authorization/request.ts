import type { JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../codec/outline/dynamic.js";
import type { Message } from "../model.js";
import { maySendSecret } from "./may-send-secret.js";

// An authorization that a caller grants out of band while its task is AUTH_REQUIRED (spec 7.6). The text of the status
// message is for people, its metadata for programs.

/**
 * The extension (spec 4.6): the message of an AUTH_REQUIRED status says in its metadata what to authorize and where.
 */
export const authorizationExtension = "urn:trivium:extension:authorization:v1";

/**
 * A request to the caller to authorize something at a URL. Do not put secrets into it: it is stored, and all readers of
 * the task see it.
 */
export interface AuthorizationRequest {
  /** The page on which the caller authorizes: https, or http on this machine. */
  readonly url: string;
  /** A code that the caller enters there, of at most 64 visible characters. Default: none. */
  readonly userCode?: string | undefined;
  /** Scopes to grant, as the authorization server names them. Default: none named. */
  readonly scopes?: readonly string[] | undefined;
  /** For people. Default: a sentence with the URL, the code and the scopes. */
  readonly text?: string | undefined;
}

/** The parts of a request as a status message carries them. */
interface Authorization extends Omit<AuthorizationRequest, "text"> {
  readonly scopes: readonly string[];
}

const urlMaxLength = 8192;
// Shown in a terminal or a page.
const userCodeForm = /^[\x20-\x7e]{1,64}$/;
const scopeForm = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;
const maxScopes = 64;

/** The text and the metadata of the status message. Throws a `TypeError` for a request that no client would follow. */
export function authorizationContent({ text, ...request }: AuthorizationRequest): {
  readonly text: string;
  readonly metadata: Record<string, { url: string; scopes: string[]; userCode?: string }>;
} {
  const problem = findProblem(request);
  if (problem !== undefined) throw new TypeError(`authRequired(): ${problem}`);
  const { userCode, scopes = [] } = request;
  const url = new URL(request.url).href;
  const code = userCode === undefined ? "" : ` and enter the code ${userCode}`;
  const scopeText = scopes.length === 0 ? "" : `. It asks for: ${scopes.join(", ")}`;
  return {
    text: text ?? `To authorize the agent, open ${url}${code}${scopeText}`,
    metadata: {
      [authorizationExtension]: { url, scopes: [...scopes], ...(userCode === undefined ? {} : { userCode }) },
    },
  };
}

/**
 * The authorization that a status message asks for. `undefined` if it asks for none, or in a way that is not safe to
 * show or to open: another URL than https, or http on this machine.
 */
export function readAuthorization(message: Pick<Message, "metadata"> | undefined): Authorization | undefined {
  const content = message?.metadata?.[authorizationExtension];
  if (!isJsonObject(content)) return undefined;
  const { url, userCode, scopes = [] } = content;
  const request: Readonly<Record<string, JsonValue | undefined>> = { url, userCode, scopes };
  if (findProblem(request) !== undefined || typeof url !== "string" || !Array.isArray(scopes)) return undefined;
  return {
    url: new URL(url).href,
    userCode: typeof userCode === "string" ? userCode : undefined,
    scopes: scopes.filter((scope) => typeof scope === "string"),
  };
}

function findProblem(request: { readonly url?: unknown; readonly userCode?: unknown; readonly scopes?: unknown }) {
  const { url, userCode, scopes = [] } = request;
  const parsed = typeof url === "string" && url.length <= urlMaxLength ? URL.parse(url) : null;
  if (parsed === null || !maySendSecret(parsed.href, false)) return "url must be an https URL, or http on this machine";
  if (parsed.username !== "" || parsed.password !== "") return "url must have no user name and no password";
  if (userCode !== undefined && !(typeof userCode === "string" && userCodeForm.test(userCode))) {
    return "userCode must be text of at most 64 visible characters";
  }
  const isList = Array.isArray(scopes) && scopes.length <= maxScopes;
  if (isList && scopes.every((scope) => typeof scope === "string" && scopeForm.test(scope))) return undefined;
  return `scopes must be a list of at most ${maxScopes} scopes of OAuth (RFC 6749, 3.3)`;
}
