// A service that signs in with its own secret, and gets more scopes when the agent asks for them.
// node client.ts http://127.0.0.1:8080 http://127.0.0.1:PORT_OF_THE_PROVIDER
import { Client } from "trivium";

const [url = "http://127.0.0.1:8080", issuer = ""] = process.argv.slice(2);
await using client = await Client.connect(url, {
  credentials: {
    user: {
      clientId: "harbour-office",
      clientSecret: "a secret of the harbour office",
      // The secret goes only to this origin, whatever the agent's card says.
      trustedOrigins: [issuer],
    },
  },
});

console.log((await client.send("Hello.")).text);
// The skill needs another scope: the agent answers 403, and the client gets a token that has it.
console.log((await client.send("A storm is coming.", { metadata: { skillId: "report" } })).text);
