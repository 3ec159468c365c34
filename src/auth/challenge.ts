import type { A2AError } from "../protocol/errors.js";

/** One challenge of a `WWW-Authenticate` header, with names in lower case. */
export interface Challenge {
  readonly scheme: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const maxLength = 4096;

const separatorPattern = /[\s,]*/y;
const wordPattern = /[\w!#$%&'*+.^`|~-]+/y;
const valuePattern = /[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)(?:"|$)|([^\s,"]*))/y;

/** Parses the challenges of `WWW-Authenticate`. Skips what it cannot parse and everything past 4,096 characters. */
export function readChallenges(header: string): readonly Challenge[] {
  const text = header.slice(0, maxLength);
  const challenges: { scheme: string; parameters: Map<string, string> }[] = [];
  for (let place = 0; place < text.length; ) {
    place += matchAt(separatorPattern, text, place)?.[0].length ?? 0;
    const name = matchAt(wordPattern, text, place)?.[0];
    if (name === undefined) {
      place += 1;
      continue;
    }
    place += name.length;
    const value = matchAt(valuePattern, text, place);
    if (value === undefined) challenges.push({ scheme: name.toLowerCase(), parameters: new Map() });
    else challenges.at(-1)?.parameters.set(name.toLowerCase(), parameterValue(value));
    place += value?.[0].length ?? 0;
  }
  return challenges;
}

function matchAt(pattern: RegExp, text: string, place: number): RegExpExecArray | undefined {
  pattern.lastIndex = place;
  return pattern.exec(text) ?? undefined;
}

function parameterValue([, quoted, bare = ""]: RegExpExecArray): string {
  return quoted === undefined ? bare : quoted.replace(/\\(.)/g, "$1");
}

const scopeForm = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;
const maxScopes = 32;

/** The scopes that the token lacked; `undefined` when no challenge blames the scopes. */
export function findMissingScopes(header: string | undefined): readonly string[] | undefined {
  const challenge = readChallenges(header ?? "").find(
    ({ scheme, parameters }) => scheme === "bearer" && parameters.get("error") === "insufficient_scope",
  );
  return challenge && scopesIn(challenge.parameters.get("scope"));
}

/** The same for a refusal: over gRPC, which has no challenges, its metadata names the scopes. */
export function findErrorScopes({ code, challenge, metadata }: A2AError): readonly string[] | undefined {
  const { scopes } = metadata;
  const isNamed = code === "permissionDenied" && challenge === undefined && scopes !== undefined;
  return isNamed ? scopesIn(scopes) : findMissingScopes(challenge);
}

function scopesIn(text = ""): readonly string[] {
  return [...new Set(text.split(" ").filter((scope) => scopeForm.test(scope)))].slice(0, maxScopes);
}
