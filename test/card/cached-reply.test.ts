import { expect, it } from "vitest";
import { isFresh } from "../../src/card/cached-reply.js";

const validators = { etag: '"abc"', lastModified: new Date("2026-03-04T05:06:07.890Z") };
const same = "Wed, 04 Mar 2026 05:06:07 GMT";
const before = "Wed, 04 Mar 2026 05:06:06 GMT";

it.each([
  ["nothing", {}, false],
  ["the tag", { "if-none-match": '"abc"' }, true],
  ["the tag as a weak one", { "if-none-match": 'W/"abc"' }, true],
  ["a list with the tag", { "if-none-match": '"x", W/"y" ,"abc"' }, true],
  ["any tag", { "if-none-match": " * " }, true],
  ["another tag", { "if-none-match": '"abcd"' }, false],
  ["a tag without quotes", { "if-none-match": "abc" }, false],
  ["another tag and the time", { "if-none-match": '"x"', "if-modified-since": same }, false],
  ["the time", { "if-modified-since": same }, true],
  ["a later time", { "if-modified-since": "Thu, 05 Mar 2026 00:00:00 GMT" }, true],
  ["an earlier time", { "if-modified-since": before }, false],
  ["no HTTP date", { "if-modified-since": "2099" }, false],
  ["no date at all", { "if-modified-since": "soon GMT" }, false],
] as const)("a caller that has %s has a fresh card: %s", (_, headers: Readonly<Record<string, string>>, fresh) => {
  expect(isFresh({ header: (name) => headers[name] }, validators)).toBe(fresh);
});
