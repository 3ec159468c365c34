// Asks until it is refused: `node client.ts http://127.0.0.1:41241 key-of-ann`.
import { A2AError, Client } from "trivium";

const [url = "http://127.0.0.1:41241", key = "key-of-ann"] = process.argv.slice(2);

// The client waits by itself if it may call again within a minute.
await using client = await Client.connect(url, { credentials: { key } });
try {
  for (;;) console.log((await client.send("bread and butter")).text);
} catch (error) {
  if (!(error instanceof A2AError) || error.code !== "resourceExhausted") throw error;
  // `retryAfterMs` says when the window ends, `metadata.limit` which limit it is.
  console.log(`refused: ${error.message}`);
}
