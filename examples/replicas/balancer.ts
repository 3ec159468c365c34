// The smallest load balancer: each connection goes to the next replica that accepts it.
// node balancer.ts 8080 8081 8082
import { connect, createServer, type Socket } from "node:net";

const [port, ...replicas] = process.argv.slice(2).map(Number);
let next = 0;

function forward(caller: Socket, tries = replicas.length): void {
  const replica = connect(replicas[next++ % replicas.length] ?? 0, "127.0.0.1");
  replica.once("connect", () => caller.pipe(replica).pipe(caller));
  replica.once("error", () => (replica.pending && tries > 1 ? forward(caller, tries - 1) : caller.destroy()));
  replica.once("close", (failed) => !failed && caller.destroy());
  caller.once("error", () => replica.destroy());
}

createServer((caller) => forward(caller)).listen(port, "127.0.0.1", () => {
  console.log(`Forwards http://127.0.0.1:${port} to ${replicas.join(", ")}`);
});
