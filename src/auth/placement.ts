import { isHttpToken } from "../protocol/http-token.js";
import { withoutEmptyCredentials } from "../protocol/service-parameters.js";
import type { Credential } from "./credentials.js";

/** Where a call carries a secret. */
export interface Placement {
  /** Two placements with the same key cannot share a call. */
  readonly key: string;
  /** Throws a `TypeError` that names `credentials.<scheme>` when the secret cannot go there. */
  place(secret: string): Credential;
}

/** The characters that a place can carry, and how to name a secret that has others. */
interface Form {
  readonly form: RegExp;
  readonly fault: string;
}

const forms = {
  header: {
    form: /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/,
    fault: "characters that a header cannot carry",
  },
  bearer: {
    form: /^[\x21-\x7e]+$/,
    fault: 'characters that a token cannot have; give the token alone, without "Bearer"',
  },
  query: { form: /./, fault: "line breaks alone" },
  cookie: {
    form: /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/,
    fault: "characters that a cookie cannot carry",
  },
} satisfies Record<string, Form>;

/** Whether the text is a valid name of a header or a cookie. */
export function isToken(name: string): boolean {
  return isHttpToken(name);
}

/** In a header, after `prefix`. */
export function headerPlacement(scheme: string, header: string, prefix = ""): Placement {
  const name = header.toLowerCase();
  return {
    key: `header ${name}`,
    place: (secret) => {
      check(scheme, secret, forms.header);
      return { headers: { [name]: prefix + secret } };
    },
  };
}

/** As `Authorization: Bearer`. */
export function bearerPlacement(scheme: string): Placement {
  const { key, place } = headerPlacement(scheme, "authorization", "Bearer ");
  return {
    key,
    place: (secret) => {
      check(scheme, secret, forms.bearer);
      return place(secret);
    },
  };
}

/** As a query parameter of the URL. */
export function queryPlacement(scheme: string, name: string): Placement {
  return {
    key: `query ${name}`,
    place: (secret) => {
      check(scheme, secret, forms.query);
      return { query: { [name]: secret } };
    },
  };
}

/** As a cookie. */
export function cookiePlacement(scheme: string, name: string): Placement {
  return {
    key: `cookie ${name}`,
    place: (secret) => {
      check(scheme, secret, forms.cookie);
      return { headers: { cookie: `${name}=${secret}` } };
    },
  };
}

function check(scheme: string, secret: unknown, { form, fault }: Form): void {
  const path = `credentials[${JSON.stringify(scheme)}]`;
  if (typeof secret !== "string")
    throw new TypeError(`${path} must give a string, not a value of type ${typeof secret}`);
  if (!form.test(secret)) throw new TypeError(`${path} holds ${secret === "" ? "no characters" : fault}`);
}

/** Merges several credentials into one; cookies are joined. */
export function mergeCredentials(credentials: readonly Credential[]): Credential {
  const headers: Record<string, string> = {};
  const query: Record<string, string> = {};
  for (const credential of credentials) {
    for (const [name, value] of Object.entries(credential.headers ?? {})) {
      const before = name === "cookie" ? headers[name] : undefined;
      headers[name] = before === undefined ? value : `${before}; ${value}`;
    }
    Object.assign(query, credential.query);
  }
  return { headers, query };
}

/** Whether both credentials would look the same to an agent. */
export function isSameCredential(one: Credential, other: Credential | undefined): boolean {
  return isSameRecord(one.headers, other?.headers) && isSameRecord(one.query, other?.query);
}

type StringRecord = Readonly<Record<string, string>>;

function isSameRecord(one: StringRecord = {}, other: StringRecord = {}): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

/** Throws a `TypeError` that names the header, never its value, when a credential cannot be sent. */
export function checkCredential({ headers: given, ...others }: Credential): Credential {
  if (given === undefined) return others;
  const headers = withoutEmptyCredentials(given);
  for (const [name, value] of Object.entries(headers)) {
    if (!isToken(name)) throw new TypeError(`${JSON.stringify(name)} cannot be the name of a header`);
    if (typeof value !== "string" || !forms.header.form.test(value)) {
      throw new TypeError(`the header ${name} of the credentials holds characters that a header cannot carry`);
    }
  }
  return { ...others, headers };
}
