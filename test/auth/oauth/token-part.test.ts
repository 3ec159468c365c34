import { expect, it } from "vitest";
import { createTokenPart } from "../../../src/auth/oauth/token-part.js";
import { bearerPlacement } from "../../../src/auth/placement.js";
import { authorizationServer, tokenAnswer } from "../authorization-server.js";
import { refusal } from "../sources.js";

it("a refusal of an older token leaves the newer one alone", async () => {
  await using server = await authorizationServer((_, place) => tokenAnswer(`t${place}`));
  const part = createTokenPart(
    {
      name: "login",
      secret: { clientId: "berth" },
      scopes: [],
      placement: bearerPlacement("login"),
      server: { tokenUrl: server.url },
    },
    { fetch, cardUrl: server.url },
  );
  const older = await part.get(undefined);
  expect(await part.refuse?.(older, refusal())).toBe(true);
  const newer = await part.get(undefined);
  expect(newer).not.toEqual(older);
  expect(await part.refuse?.(older, refusal())).toBe(true);
  expect(await part.get(undefined)).toEqual(newer);
});
