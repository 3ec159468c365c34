import { expect, it } from "vitest";
import { maySendSecret, maySendSecretTo } from "../../../src/protocol/authorization/may-send-secret.js";

it.each([
  "https://agent.example/rpc",
  "HTTPS://agent.example",
  "http://localhost:8080",
  "http://api.localhost/",
  "http://127.0.0.1:1",
  "http://127.8.9.10",
  "http://127.1",
  "http://[::1]:9000",
])("a secret may go to %s", (url) => {
  expect(maySendSecret(url, false)).toBe(true);
});

// Requirements: V03-TRANS-1
it.each([
  "http://agent.example",
  "http://localhost.agent.example",
  "http://evillocalhost",
  "http://127.0.0.1.agent.example",
  "http://localhost@agent.example",
  "http://128.0.0.1",
  "http://0.0.0.0",
  "http://[::2]",
  "http://10.0.0.1",
])("a secret may go to %s only when plaintext is allowed", (url) => {
  expect(maySendSecret(url, false)).toBe(false);
  expect(maySendSecret(url, true)).toBe(true);
});

it.each(["ftp://localhost", "file:///tmp", "javascript:alert(1)", "agent.example", ""])(
  "a secret never goes to %s",
  (url) => {
    expect(maySendSecret(url, true)).toBe(false);
  },
);

it.each(["localhost", "localhost:50051", "a.localhost:1", "127.0.0.1:50051", "[::1]:50051", "[::1]"])(
  "a secret may go to the address %s without TLS",
  (host) => {
    expect(maySendSecretTo({ secure: false, host }, false)).toBe(true);
  },
);

it.each([
  "agent.example:443",
  "10.0.0.1:50051",
  "agent.example\\@localhost",
  "localhost/agent.example",
  "localhost@agent.example",
  "local\thost",
  "unix:/tmp/socket",
  "",
])("a secret may go to the address %s over TLS, or when plaintext is allowed", (host) => {
  expect(maySendSecretTo({ secure: false, host }, false)).toBe(false);
  expect(maySendSecretTo({ secure: true, host }, false)).toBe(true);
  expect(maySendSecretTo({ secure: false, host }, true)).toBe(true);
});
