// Examples for the docstrings of `trivium/auth`.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Agent, type CardOptions, serve } from "trivium";
import { apiKey, basic, bearerJwt, CredentialError, mutualTls, oauth2, openIdConnect } from "trivium/auth";

declare const card: CardOptions;
declare const agent: Agent;
declare const owners: Map<string, string>;
declare const tls: { key: string; cert: string };
declare function readTicket(key: string): { owner: string; expires: number };
declare function checkPassword(username: string, password: string): Promise<boolean>;

{
  // #region apiKey
  const key = apiKey({
    in: "header",
    name: "x-api-key",
    verify: (key) => owners.get(createHash("sha256").update(key).digest("hex")),
  });
  const server = await serve({ card, agent, auth: { schemes: { key } } });
  // #endregion
  console.log(server.url);
}

{
  // #region basic
  const password = basic({
    verify: async (username, password) => ((await checkPassword(username, password)) ? username : undefined),
  });
  const server = await serve({ card, agent, auth: { schemes: { password } } });
  // #endregion
  console.log(server.url);
}

{
  // #region bearerJwt
  const jwt = bearerJwt({ issuer: "https://login.example", audience: "weather" });
  const server = await serve({ card, agent, auth: { schemes: { jwt } } });
  // #endregion
  console.log(server.url);
}

{
  // #region mutualTls
  const certificate = mutualTls({ ca: readFileSync("clients-ca.pem", "utf8") });
  const server = await serve({ card, agent, tls, auth: { schemes: { certificate } } });
  // #endregion
  console.log(server.url);
}

{
  // #region oauth2
  const oauth = oauth2({
    flows: { clientCredentials: { tokenUrl: "https://login.example/token", scopes: { ask: "Ask the agent" } } },
    jwt: { issuer: "https://login.example", audience: "weather" },
  });
  const server = await serve({ card, agent, auth: { schemes: { oauth }, require: [{ oauth: ["ask"] }] } });
  // #endregion
  console.log(server.url);
}

{
  // #region openIdConnect
  const oidc = openIdConnect({
    discoveryUrl: "https://login.example/.well-known/openid-configuration",
    audience: "weather",
  });
  const server = await serve({ card, agent, auth: { schemes: { oidc } } });
  // #endregion
  console.log(server.url);
}

{
  // #region CredentialError
  const ticket = apiKey({
    in: "header",
    name: "x-ticket",
    verify(key) {
      const { owner, expires } = readTicket(key);
      if (expires < Date.now()) throw new CredentialError("the ticket has expired");
      return owner;
    },
  });
  // #endregion
  console.log(ticket.challenge);
}
