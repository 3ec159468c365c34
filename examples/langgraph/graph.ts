// A graph that writes a letter and asks a person before it is sent. Unless the answer is yes, it writes another one.
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { Annotation, END, interrupt, MemorySaver, START, StateGraph } from "@langchain/langgraph";

// Stands in for a chat model, such as `ChatOpenAI`.
const model = new FakeListChatModel({
  responses: ["We arrive at noon.", "We would like to arrive at noon, if you please."],
});

const State = Annotation.Root({
  order: Annotation<string>,
  letter: Annotation<string>,
  answer: Annotation<string>,
});

export const graph = new StateGraph(State)
  .addNode("write", async ({ order, answer = "" }) => ({ letter: (await model.invoke(`${order} ${answer}`)).text }))
  .addNode("approve", () => ({ answer: interrupt<string, string>("Shall I send this letter?") }))
  .addEdge(START, "write")
  .addEdge("write", "approve")
  .addConditionalEdges("approve", ({ answer }) => (answer === "yes" ? END : "write"))
  // A checkpointer on a database keeps the interrupted graphs when the process ends.
  .compile({ checkpointer: new MemorySaver() });
