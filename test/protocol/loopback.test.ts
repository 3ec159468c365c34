import { expect, it } from "vitest";
import { isLoopback } from "../../src/protocol/loopback.js";

/** Hosts as `URL.hostname`, a socket or an option writes them; whether each is this machine to connect to, for secrets, to listen on. */
const hosts: readonly (readonly [host: string, connect: boolean, secret: boolean, listen: boolean])[] = [
  ["localhost", true, true, true],
  ["127.0.0.1", true, true, true],
  ["127.8.9.10", true, true, true],
  ["127.255.255.255", true, true, true],
  ["[::1]", true, true, false],
  ["::1", true, false, true],
  ["agent.localhost", true, true, false],
  ["a.b.localhost", true, true, false],
  ["localhost.", true, false, false],
  ["agent.localhost.", true, false, false],
  ["::ffff:127.0.0.1", true, false, false],
  ["[::ffff:7f00:1]", true, false, false],
  ["[::ffff:7fff:ffff]", true, false, false],
  ["[::ffff:7e00:1]", false, false, false],
  ["::ffff:128.0.0.1", false, false, false],
  ["128.0.0.1", false, false, false],
  ["10.0.0.1", false, false, false],
  ["0.0.0.0", false, false, false],
  ["::", false, false, false],
  ["[::2]", false, false, false],
  ["127.0.0.1.agent.example", false, false, false],
  ["127.agent.example", false, false, false],
  ["localhost.agent.example", false, false, false],
  ["evillocalhost", false, false, false],
  ["1127.0.0.1", false, false, false],
  ["", false, false, false],
];

it.each(hosts)(
  "the host %s is this machine to connect to: %s, for secrets: %s, to listen on: %s",
  (host, ...expected) => {
    expect([isLoopback(host, "connect"), isLoopback(host, "secret"), isLoopback(host, "listen")]).toEqual(expected);
  },
);
