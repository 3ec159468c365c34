import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { gunzip } from "../../../src/binding/http/gunzip.js";

it("a body that is refused is decompressed no further", async () => {
  const body = gzipSync(Buffer.alloc(10_000_000));
  let pieces = 0;
  const refused = gunzip(body, body.length * 1000, () => {
    pieces += 1;
    throw new Error("refused");
  });
  await expect(refused).rejects.toThrow("refused");
  // Another body of this size takes as long as the rest would.
  await gunzip(body, 10_000_000, () => {});
  expect(pieces).toBe(1);
});
