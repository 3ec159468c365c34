// Calls the agent with the token in TOKEN: `node client.ts http://127.0.0.1:8080/agents/desk`.
import { A2AError, Client } from "trivium";

const { TOKEN } = process.env;

// The card says that the agent requires a bearer token, so the client knows where to send it.
await using client = await Client.connect(process.argv[2] ?? "http://127.0.0.1:8080/agents/desk", {
  credentials: TOKEN === undefined ? {} : { bearer: TOKEN },
});
try {
  console.log((await client.send("hello")).text);
} catch (error) {
  if (!(error instanceof A2AError)) throw error;
  console.log(`${error.code}, WWW-Authenticate: ${error.challenge}`);
}
