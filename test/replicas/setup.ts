import { afterAll, beforeEach, inject } from "vitest";
import { alone, serveBy } from "../support/serving.js";
import { reasonAgainst } from "./exceptions.js";
import { closeFree, serveReplicas } from "./replicas.js";

// Every case is served by three servers, except those with a reason against it. One client per kind of wire is enough:
// wires and versions differ only before the handler.

const replicated = { clientsPerWire: 3, serve: serveReplicas };
let how: Omit<typeof alone, "wires"> = replicated;

serveBy({
  wires: ["JSONRPC", "HTTP+JSON", "GRPC"],
  get clientsPerWire() {
    return how.clientsPerWire;
  },
  serve: (options) => how.serve(options),
});

beforeEach(({ task, skip }) => {
  if (inject("postgres") === undefined) skip("no PostgreSQL server is installed");
  how = reasonAgainst(task.file.filepath, task.name) === undefined ? replicated : alone;
});

afterAll(closeFree);
