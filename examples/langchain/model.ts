import { FakeListChatModel } from "@langchain/core/utils/testing";

// Stands in for a chat model, such as `new ChatOpenAI({ model: "gpt-5.2" })`. It says how many messages it was given; asked
// to wait, it talks until it is stopped.
class Counter extends FakeListChatModel {
  override async *_streamResponseChunks(...args: Parameters<FakeListChatModel["_streamResponseChunks"]>) {
    const [messages] = args;
    this.responses = [messages.at(-1)?.text === "wait" ? "wait ".repeat(1000) : `I was given ${messages.length}.`];
    yield* super._streamResponseChunks(...args);
  }
}
export const model = new Counter({ responses: [], sleep: 5 });
