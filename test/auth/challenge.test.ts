import fc from "fast-check";
import { expect, it } from "vitest";
import { findMissingScopes, readChallenges } from "../../src/auth/challenge.js";

const read = (header: string) =>
  readChallenges(header).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]);

it.each([
  ["Bearer", [["bearer", {}]]],
  ['Bearer realm="port", error="invalid_token"', [["bearer", { realm: "port", error: "invalid_token" }]]],
  [
    'Basic realm="a, b=c", BEARER Scope="x y"',
    [
      ["basic", { realm: "a, b=c" }],
      ["bearer", { scope: "x y" }],
    ],
  ],
  ['Bearer realm="say \\"hi\\""', [["bearer", { realm: 'say "hi"' }]]],
  ["Bearer error = invalid_token,scope=x", [["bearer", { error: "invalid_token", scope: "x" }]]],
  [
    "Digest, , Negotiate",
    [
      ["digest", {}],
      ["negotiate", {}],
    ],
  ],
  ['realm="nobody", Bearer', [["bearer", {}]]],
  ['Bearer error="unended', [["bearer", { error: "unended" }]]],
  ["", []],
])("the challenge reader reads %s", (header, challenges) => {
  expect(read(header)).toEqual(challenges);
});

it("the challenge reader never throws, whatever the header holds", () => {
  const pieces = fc.constantFrom(
    "Bearer",
    "a=",
    '"',
    "\\",
    ",",
    " ",
    "=",
    "scope",
    'error="insufficient_scope"',
    "\u0000",
    "é",
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 200 }), (parts) => {
      const header = parts.join("");
      expect(readChallenges(header).length).toBeLessThanOrEqual(header.length);
    }),
  );
});

it("the challenge reader ignores everything after 4,096 characters", () => {
  expect(readChallenges(`Basic ${" ".repeat(4096)}, Bearer`)).toHaveLength(1);
});

it.each([
  ['Bearer error="insufficient_scope", scope="tasks.read tasks.write tasks.read"', ["tasks.read", "tasks.write"]],
  ['Basic, Bearer error="insufficient_scope"', []],
  ['Bearer error="insufficient_scope", scope="ok bad\u00e9"', ["ok"]],
  ['Bearer error="invalid_token", scope="a"', undefined],
  ['Basic error="insufficient_scope", scope="a"', undefined],
  [undefined, undefined],
])("the challenge reader finds the scopes that were missed in %s", (header, scopes) => {
  expect(findMissingScopes(header)).toEqual(scopes);
});

it("the challenge reader takes no more than 32 scopes from a challenge", () => {
  const scope = Array.from({ length: 100 }, (_, place) => `s${place}`).join(" ");
  expect(findMissingScopes(`Bearer error="insufficient_scope", scope="${scope}"`)).toHaveLength(32);
});
