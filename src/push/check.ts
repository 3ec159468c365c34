import type { AddressPolicy } from "../binding/fetch/address-policy.js";
import type { FieldViolation } from "../protocol/errors.js";
import { isHttpToken } from "../protocol/http-token.js";
import type { TaskPushNotificationConfig } from "../protocol/model.js";

/** Violations of a configuration by field: a URL that is invalid or not allowed, and text that would break a header. */
export function checkConfig(config: TaskPushNotificationConfig, policy: AddressPolicy): readonly FieldViolation[] {
  const { url, token, authentication } = config;
  const faults: readonly (readonly [field: string, description: string | undefined])[] = [
    ["url", urlFault(url, policy)],
    ["token", headerFault(token)],
    ["authentication.scheme", authentication === undefined ? undefined : schemeFault(authentication.scheme)],
    ["authentication.credentials", headerFault(authentication?.credentials ?? "")],
  ];
  return faults.flatMap(([field, description]) => (description === undefined ? [] : [{ field, description }]));
}

/** Faults in the text of a URL; the first one is reported. A parser would silently fix most of them. */
const urlFaults: readonly { readonly has: (text: string) => boolean; readonly description: string }[] = [
  { has: (text) => !/^https?:\/\//i.test(text), description: "must be an absolute http or https URL" },
  { has: (text) => /[\p{Cc}\s\\]/u.test(text), description: "must not hold spaces, backslashes or control characters" },
  { has: (text) => text.includes("#"), description: "must not have a fragment" },
  { has: (text) => /^\w+:\/\/[^/?]*@/.test(text), description: "must not hold a user name or a password" },
  { has: (text) => /^\w+:\/\/(?:[/?:]|$)/.test(text), description: "must name a host" },
  { has: (text) => !isPort(readPort(text)), description: "must have a port from 1 to 65535, or none" },
  { has: (text) => !URL.canParse(text), description: "is not a valid URL" },
];

function urlFault(text: string, policy: AddressPolicy): string | undefined {
  const fault = urlFaults.find(({ has }) => has(text));
  if (fault !== undefined) return fault.description;
  if (policy.host(new URL(text).hostname) === "forbidden")
    return "names a host that this agent does not call (push.allow)";
  return undefined;
}

function readPort(text: string): string {
  return /^\w+:\/\/[^/?]*:(\d*)(?:[/?]|$)/.exec(text)?.[1] ?? "";
}

function isPort(port: string): boolean {
  return port === "" || (Number(port) > 0 && Number(port) < 65536);
}

function schemeFault(scheme: string): string | undefined {
  return isHttpToken(scheme) ? undefined : "must be the name of an HTTP authentication scheme";
}

// A header is one line of Latin-1, and leading or trailing spaces get lost.
function headerFault(text: string): string | undefined {
  if (/\p{Cc}/u.test(text)) return "must not hold line breaks or control characters";
  if (/[\u0100-\uffff]/.test(text)) return "must not hold characters that a header cannot carry";
  return text.trim() === text ? undefined : "must not begin or end with a space";
}
