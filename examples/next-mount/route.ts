// An agent as a route of Next's App Router: this file is app/agents/shouter/[[...path]]/route.ts of an app.
import { artifact, createAgent } from "trivium";
import { nextRoute } from "trivium/next";

export const { GET, POST, DELETE, HEAD, OPTIONS } = nextRoute(() =>
  createAgent({
    card: { name: "Shouter", description: "Says it louder", version: "1.0.0" },
    async *agent({ text }) {
      yield artifact(text.toUpperCase());
    },
  }),
);
