import { expect, it } from "vitest";
import { checkCredentials } from "../../src/auth/check-credentials.js";

const oauth = { clientId: "berth", clientSecret: "hush" };

it.each([
  ["a string", "key"],
  ["a function", () => "key"],
  ["nothing", undefined],
  ["a name and a password", { username: "ada", password: "" }],
  ["a client", { ...oauth, scopes: ["a"], trustedOrigins: ["https://login.example"], parameters: { audience: "x" } }],
  ["a client of the device code flow", { clientId: "berth", deviceCode: () => {} }],
])("the check of credentials takes %s", (_, secret) => {
  expect(() => checkCredentials({ login: secret })).not.toThrow();
});

it.each<[unknown, string]>([
  ["", " is empty"],
  [7, " must be a string, a function"],
  [null, " must be a string, a function"],
  [{ password: "hush" }, " must be a string, a function"],
  [{ username: "a:b", password: "hush" }, ".username must be a string without a colon"],
  [{ username: "ada" }, ".password must be a string"],
  [{ ...oauth, clientId: "" }, ".clientId must be a string that is not empty"],
  [{ ...oauth, clientSecret: "" }, ".clientSecret must be a string that is not empty"],
  [{ ...oauth, deviceCode: true }, ".deviceCode must be a function"],
  [{ ...oauth, scopes: "a b" }, ".scopes must be a list of strings"],
  [{ ...oauth, authentication: "basic" }, ".authentication must be"],
  [{ ...oauth, parameters: ["a"] }, ".parameters must be an object"],
  [{ ...oauth, parameters: { grant_type: "password" } }, ".parameters.grant_type cannot be given"],
  [{ ...oauth, trustedOrigins: ["https://login.example/"] }, ".trustedOrigins must be a list of origins"],
])("the check of credentials refuses %j and names the invalid member", (secret, problem) => {
  const options = JSON.parse(JSON.stringify({ login: secret }));
  expect(() => checkCredentials(options)).toThrow(`credentials["login"]${problem}`);
  expect(() => checkCredentials(options)).not.toThrow("hush");
});
