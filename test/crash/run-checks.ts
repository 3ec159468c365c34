import { isDeepStrictEqual } from "node:util";
import type { Task } from "../../src/protocol/model.js";
import type { Sent } from "./ledger.js";
import type { Run } from "./mortal-server.js";
import type { Scene } from "./scene.js";
import { sendAgain } from "./sends.js";

/**
 * Checks that no message had two agents at work on it, and that a repeated send gets the first result and starts
 * nothing.
 */
export async function checkRuns(scene: Scene, tasksById: ReadonlyMap<string, Task>, from: number): Promise<void> {
  const { ledger, random, server } = scene;
  const repeated = ledger.sent.slice(from).filter(({ answer }) => answer !== undefined && random.chance(0.3));
  const before = server.runs().length;
  for (const send of repeated) await repeat(scene, send);
  const runs = server.runs();
  if (runs.length !== before)
    ledger.faults.push(`sends that came again have started ${describeRuns(runs.slice(before))}`);
  for (const [messageId, ofMessage] of Map.groupBy(runs, (run) => run.messageId)) {
    const fault = faultOf(ofMessage, tasksById);
    if (fault !== undefined) ledger.faults.push(`the message ${messageId} ${fault}: ${describeRuns(ofMessage)}`);
  }
  ledger.tally.runAgain = runs.filter(({ kind, cause }) => kind === "begun" && cause === "restart").length;
}

function faultOf(runs: readonly Run[], tasksById: ReadonlyMap<string, Task>): string | undefined {
  const tasks = new Set(runs.map(({ taskId }) => taskId).filter((id) => tasksById.has(id)));
  if (tasks.size > 1) return `has started ${tasks.size} tasks`;
  const starts = runs.filter(({ kind }) => kind === "begun");
  const inLife = new Set(starts.map(({ life, attempt, cause }) => `${life} ${attempt} ${cause}`));
  if (inLife.size < starts.length) return "has started an agent twice in one process";
  // After its task is stored, only a restarted or a woken turn may begin.
  const at = runs.findIndex(({ kind }) => kind === "stored");
  const behind = at < 0 ? [] : runs.slice(at).filter(({ kind, cause }) => kind === "begun" && cause === "message");
  return behind.length > 0 ? "has started an agent although its task was there" : undefined;
}

async function repeat(scene: Scene, send: Sent): Promise<void> {
  const { ledger } = scene;
  // The answer of a stream is its first event.
  const answer = await sendAgain(scene, send).catch((error: unknown) => error);
  ledger.tally.repeats++;
  const firstAnswer = send.answer;
  if (firstAnswer === undefined) return;
  const same =
    "reply" in firstAnswer
      ? isDeepStrictEqual(answer, firstAnswer.reply)
      : isTask(answer) && answer.id === firstAnswer.taskId;
  if (!same)
    ledger.faults.push(`${send.options.messageId} (${send.text}) is answered differently again: ${shown(answer)}`);
}

function isTask(answer: unknown): answer is Task {
  return (
    typeof answer === "object" && answer !== null && "$typeName" in answer && answer.$typeName === "lf.a2a.v1.Task"
  );
}

function shown(answer: unknown): string {
  if (answer instanceof Error) return answer.message;
  return isTask(answer) ? `task ${answer.id}` : JSON.stringify(answer);
}

function describeRuns(runs: readonly Run[]): string {
  return runs
    .map(({ kind, life, attempt, cause, taskId }) => `${kind} ${life} ${cause} ${attempt} ${taskId}`)
    .join(", ");
}
