import type { HttpEndpoint } from "../../src/binding/http/http.js";
import { noop } from "../../src/protocol/async/noop.js";
import { A2AError } from "../../src/protocol/errors.js";

export const maxBytes = 100_000;

/** Answers with the number of bytes received, or with the error in reading them. */
export const measure: HttpEndpoint = async (request) => {
  try {
    const body = await request.body(maxBytes, noop);
    return { status: 200, headers: {}, body: String(body.length) };
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    return {
      status: error.code === "contentTooLarge" ? 413 : 400,
      headers: {},
      body: error.code === "internalError" ? error.message : error.code,
    };
  }
};
