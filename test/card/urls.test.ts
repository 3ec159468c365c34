import { expect, it } from "vitest";
import type { Caller } from "../../src/card/proxy.js";
import { createLocations, type UrlOptions, urlProblems } from "../../src/card/urls.js";

const listening = () => ({ origin: "http://127.0.0.1:8080" });

interface Arrival {
  readonly headers?: Readonly<Record<string, string>>;
  readonly secure?: boolean;
  readonly from?: string;
}

function caller({ headers = {}, secure = false, from = "10.0.0.7" }: Arrival): Caller {
  return { secure, remoteAddress: from, header: (name) => headers[name] };
}

const at = (options: UrlOptions, arrival: Arrival) => createLocations(options, listening).locationFor(caller(arrival));

it.each([
  ["a host and a port", { host: "port.example:8080" }, false, "http://port.example:8080", "port.example:8080"],
  ["a host alone", { host: "port.example" }, false, "http://port.example", "port.example:80"],
  ["TLS", { host: "Port.Example" }, true, "https://port.example", "port.example:443"],
  ["an IPv6 address", { host: "[::1]:8080" }, false, "http://[::1]:8080", "[::1]:8080"],
  ["a name with an underscore", { host: "my_agent:80" }, false, "http://my_agent", "my_agent:80"],
  ["no host at all", {}, false, "http://127.0.0.1:8080", "127.0.0.1:8080"],
  ["an empty host", { host: "" }, false, "http://127.0.0.1:8080", "127.0.0.1:8080"],
])("the URLs of a card take %s from the request", (_, headers, secure, base, grpc) => {
  expect(at({}, { headers, secure })).toEqual({ base, grpc });
});

it.each([
  "evil.example/path",
  "user@evil.example",
  'evil"example',
  "evil.example:99999",
  "evil.example:80:80",
  "a b",
  "évil.example",
  "[::1",
  "evil.example?x",
  "evil.example#x",
  "..",
  "1.2.3.4.5",
  "evil.example\\x",
])("the URLs of a card take %j for no host", (host) => {
  expect(at({}, { headers: { host } })).toBeUndefined();
});

// Requirements: V1-CARD-9
it("the URLs of a card put the base path after the host", () => {
  expect(at({ basePath: "/agent" }, { headers: { host: "port.example" } })?.base).toBe("http://port.example/agent");
});

it("the URLs of a card use only the public URL, whatever the request says", () => {
  const options = { publicUrl: "https://port.example/agents/a/", basePath: "/a", trustProxy: true };
  const headers = { host: "evil.example/", "x-forwarded-host": "evil.example" };
  expect(at(options, { headers })).toEqual({ base: "https://port.example/agents/a", grpc: "port.example:443" });
  expect(createLocations(options, listening).varyBy).toEqual([]);
});

it("the URLs of a card name gRPC's own port, and its public address before that", () => {
  const apart = () => ({ ...listening(), grpcPort: 50051 });
  const headers = { host: "port.example:8080" };
  expect(createLocations({}, apart).locationFor(caller({ headers }))?.grpc).toBe("port.example:50051");
  const options = { publicUrl: "https://port.example", publicGrpc: "grpc.port.example:443" };
  expect(createLocations(options, apart).ownLocation().grpc).toBe("grpc.port.example:443");
  const asUrl = { ...options, publicGrpc: "https://grpc.port.example:443" };
  expect(urlProblems(asUrl)).toEqual([]);
  expect(createLocations(asUrl, apart).ownLocation().grpc).toBe("https://grpc.port.example:443");
});

const proxied = {
  host: "inside:3000",
  "x-forwarded-proto": "https",
  "x-forwarded-host": "port.example",
  "x-forwarded-prefix": "/agents/a/",
};

it("the URLs of a card ignore the headers of a proxy that is not trusted", () => {
  expect(at({}, { headers: proxied })?.base).toBe("http://inside:3000");
  expect(at({ trustProxy: ["192.168.0.0/16"] }, { headers: proxied })?.base).toBe("http://inside:3000");
});

it.each([
  ["any proxy", true],
  ["a proxy of a range", ["192.168.0.0/16", "10.0.0.0/8"]],
  ["a proxy by its address", ["10.0.0.7"]],
])("the URLs of a card believe %s", (_, trustProxy) => {
  const arrival = { headers: proxied, from: "::ffff:10.0.0.7" };
  expect(at({ trustProxy, basePath: "/b" }, arrival)).toEqual({
    base: "https://port.example/agents/a/b",
    grpc: "port.example:443",
  });
});

it("the URLs of a card name the headers that they depend on", () => {
  expect(createLocations({ trustProxy: true }, listening).varyBy).toContain("X-Forwarded-Host");
  expect(createLocations({}, listening).varyBy).toEqual([]);
});

it.each([
  ["x-forwarded-prefix", "//evil.example"],
  ["x-forwarded-prefix", "/a/../b"],
  ["x-forwarded-prefix", "agents"],
  ["x-forwarded-prefix", `/${"a".repeat(300)}`],
  ["x-forwarded-proto", "ftp"],
  ["x-forwarded-host", "evil.example/x"],
])("the URLs of a card refuse %s: %s", (name, value) => {
  expect(at({ trustProxy: true }, { headers: { ...proxied, [name]: value } })).toBeUndefined();
});

it.each([
  [{ publicUrl: "port.example" }, 'publicUrl must be an absolute URL (https, http), not "port.example"'],
  [{ publicUrl: "https://port.example/?a=1" }, "publicUrl must end with its path"],
  [{ publicUrl: "https://me:secret@port.example" }, "publicUrl must not hold credentials"],
  [{ publicGrpc: "https://port.example" }, "publicGrpc must be host:port or https://host:port, such as"],
  [{ publicGrpc: "https://port.example:443/grpc" }, "publicGrpc must be host:port or https://host:port, such as"],
  [{ publicGrpc: "https://me:pw@port.example:443" }, "publicGrpc must be host:port or https://host:port, such as"],
  [{ publicGrpc: "ftp://port.example:443" }, "publicGrpc must be host:port or https://host:port, such as"],
  [{ publicGrpc: "https://port.example:99999" }, "publicGrpc must be host:port or https://host:port, such as"],
  [{ basePath: "agent" }, 'basePath must be empty or of the form "/agent", not "agent"'],
  [{ basePath: "/agent/" }, "basePath must be empty"],
  [{ trustProxy: ["10.0.0.0/33"] }, 'trustProxy: "10.0.0.0/33" is neither an address nor a range'],
  [{ trustProxy: ["10.1"] }, 'trustProxy: "10.1" is neither an address nor a range'],
  [{ trustProxy: ["proxy.example"] }, 'trustProxy: "proxy.example" is neither an address nor a range'],
])("the check of URL options names the problem of %j", (options, problem) => {
  expect(urlProblems(options)).toContainEqual(expect.stringContaining(problem));
});

it("the check of URL options finds nothing wrong with those that can be right", () => {
  const trustProxy = ["10.0.0.0/8", "fd00::/8", "::1", "127.0.0.1"];
  expect(
    urlProblems({ publicUrl: "http://localhost:8080/a", publicGrpc: "[::1]:443", basePath: "/a/b", trustProxy }),
  ).toEqual([]);
});
