import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { CredentialOptions, CredentialProvider } from "../auth/credential-options.js";
import type { ClientTls } from "../binding/fetch/client-tls.js";
import type { ConnectOptions } from "../client/options.js";
import { readErrorMessage } from "../protocol/errors.js";
import { type LoginFlags, readLogin } from "./login/login.js";
import { appendText } from "./option-values.js";

/** Options of every command that calls an agent: identity and call settings. */
export interface CallerFlags extends LoginFlags {
  readonly header: Readonly<Record<string, string>>;
  readonly timeout?: number;
  readonly bearer?: string;
  readonly credential?: readonly string[];
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Adds the options of `CallerFlags`. Secrets are validated later, so that no usage error shows one. */
export function addCallerOptions(command: Command): Command {
  return command
    .option("--header <name:value>", "header or gRPC metadata of the call; may be repeated", addHeader, {})
    .option("--timeout <ms>", "time limit of the whole call in milliseconds", parseTimeout)
    .addOption(new Option("--bearer <token>", "token to send as a bearer token").env("TRIVIUM_BEARER"))
    .addOption(
      new Option("--credential <scheme=secret>", "secret for a security scheme of the card; may be repeated")
        .env("TRIVIUM_CREDENTIAL")
        .argParser(appendText),
    )
    .addOption(
      new Option(
        "--login <client-id>",
        "sign in with OAuth or OpenID Connect as this client, in a browser or with a code; scheme=client-id if the card has several schemes",
      ).env("TRIVIUM_LOGIN"),
    )
    .option(
      "--scope <scope>",
      "scope to sign in for; may be repeated; default: those that the agent requires",
      appendText,
    )
    .option(
      "--trust <origin>",
      "origin of an interface or of the authorization server that may get your secrets, besides the agent's; may be repeated",
      appendText,
    )
    .option("--no-browser", "print the URLs of pages instead of opening them")
    .option("--ca <file>", "certificates of the authorities to trust instead of those of the system, in PEM")
    .option("--cert <file>", "client certificate for an agent that asks for one, in PEM; needs --key")
    .option("--key <file>", "private key of the client certificate, in PEM");
}

type CallerOptions = Pick<ConnectOptions, "headers" | "credentials" | "trustedOrigins" | "tls">;

/** Identity and TLS of the caller. Throws a `TypeError` that shows no secret. */
export function callerOptions(flags: CallerFlags, agent: string): CallerOptions {
  const { header: headers, trust: trustedOrigins } = flags;
  return { headers, credentials: readCredentials(flags, agent), trustedOrigins, tls: readTls(flags) };
}

function readTls({ ca, cert, key }: CallerFlags): ClientTls | undefined {
  if ((cert === undefined) !== (key === undefined)) throw new TypeError("--cert and --key belong together");
  if (ca === undefined && cert === undefined) return undefined;
  return { ca: pem("--ca", ca), cert: pem("--cert", cert), key: pem("--key", key) };
}

function pem(option: string, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new TypeError(`${option} cannot be read: ${readErrorMessage(cause)}`, {
      cause,
    });
  }
  if (!text.includes("-----BEGIN ")) throw new TypeError(`${option}: ${file} is not a PEM file`);
  return text;
}

/** The credentials for a client of the agent. Throws a `TypeError` that shows no secret. */
function readCredentials(flags: CallerFlags, agent: string): CredentialOptions | CredentialProvider {
  const { bearer, credential, login } = flags;
  if (bearer !== undefined && (credential !== undefined || login !== undefined)) {
    throw new TypeError("give a bearer token or credentials by scheme, not both");
  }
  if (login === undefined && flags.scope !== undefined) throw new TypeError("--scope belongs to --login");
  if (bearer !== undefined) {
    if (!/^[\x21-\x7e]+$/.test(bearer)) throw new TypeError("a bearer token is printable ASCII without spaces");
    return () => ({ headers: { authorization: `Bearer ${bearer}` } });
  }
  const secrets = (credential ?? []).map(parseCredential);
  if (login !== undefined) return Object.fromEntries([...secrets, readLogin(agent, { ...flags, login })]);
  return Object.fromEntries(secrets);
}

function parseCredential(text: string): readonly [scheme: string, secret: string] {
  const end = text.indexOf("=");
  if (end < 1 || end === text.length - 1) throw new TypeError("a credential takes the form scheme=secret");
  return [text.slice(0, end), text.slice(end + 1)];
}

function parseTimeout(value: string): number {
  const timeoutMs = Number(value);
  // The longest delay of a timer in Node.
  if (Number.isInteger(timeoutMs) && timeoutMs > 0 && timeoutMs < 2 ** 31) return timeoutMs;
  throw new InvalidArgumentError("It takes a whole number of milliseconds, 1 or more.");
}

function addHeader(header: string, headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):(.*)$/.exec(header) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError("It takes name:value.");
  return { ...headers, [name]: value.trim() };
}
