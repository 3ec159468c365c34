// A webhook: checks the token, acknowledges, then works. It may get an event twice.
import { createHash, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { eventOf, fromJson } from "trivium";

const { PORT = "4000", TOKEN = "a-long-random-token" } = process.env;
const hash = (value: string): Buffer => createHash("sha256").update(value).digest();

const server = createServer(async (request, response) => {
  const token = String(request.headers["x-a2a-notification-token"]);
  if (!timingSafeEqual(hash(token), hash(TOKEN))) {
    response.writeHead(401).end();
    console.log("refused: wrong token");
    return;
  }
  const event = eventOf(fromJson("StreamResponse", JSON.parse(await text(request))));
  response.writeHead(204).end();
  if (event?.type === "artifact") console.log(`${event.name}: ${event.delta}`);
  if (event?.type === "status") console.log(`${event.state} ${event.text}`.trim());
});
server.listen(Number(PORT), "127.0.0.1", () => {
  const address = server.address();
  console.log(`Webhook listens at http://127.0.0.1:${typeof address === "object" ? address?.port : address}`);
});
