import { afterAll, beforeEach, inject } from "vitest";
import { alone, serveBy } from "../support/serving.js";
import { reasonAgainst } from "./exceptions.js";
import { closeFree, serveReplicas } from "./replicas.js";

// Each case is served three times over, but for those that have a reason against it. One wire of each kind is enough: what
// differs between wires and between versions lies before the handler.

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
