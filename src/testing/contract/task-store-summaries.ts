import assert from "node:assert/strict";
import { create, toBinary } from "@bufbuild/protobuf";
import type { LogRecord, NewTask, StoredTask, TaskStore, WrittenStatus } from "../../core/ports.js";
import { foldStored, summaryAfter } from "../../core/task/fold.js";
import { emptyTask } from "../../protocol/fold.js";
import { StreamResponseSchema, TaskSchema, TaskState } from "../../protocol/model.js";
import { alice, appendTo, event, message, newTask } from "./fixtures.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";

const { SUBMITTED, WORKING, COMPLETED } = TaskState;

/** A write of a test: a status with or without a summary, or a chunk of an artifact. */
interface TestWrite {
  readonly state?: TaskState;
  readonly text?: string;
  /** Whether the write brings a summary. Default: true. */
  readonly summarized?: boolean;
}

const long = "a long status message ".repeat(500);

const histories: Readonly<Record<string, readonly TestWrite[]>> = {
  "that was just created": [{ state: SUBMITTED }],
  "whose first write has no summary": [{ state: SUBMITTED, summarized: false }],
  "that continues after its status": [{ state: SUBMITTED }, { state: WORKING, text: "begun" }, {}, {}],
  "that has had several statuses": [{ state: SUBMITTED, text: "got it" }, { state: WORKING }, { state: COMPLETED }],
  "with a long status message": [{ state: SUBMITTED }, {}, { state: WORKING, text: long }, {}],
  "whose long status message was replaced": [{ state: WORKING, text: long }, {}, { state: COMPLETED, text: "done" }],
  "whose last status came without a summary": [
    { state: WORKING, text: "begun" },
    { state: WORKING, text: "half of it", summarized: false },
    {},
  ],
};

/** Lists whose caller needs neither artifacts nor history. */
export function summaryTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("a list of summaries", () => {
    for (const [what, history] of Object.entries(histories)) {
      it(
        `has the latest status and metadata of a task ${what}`,
        withStore(make, async (store) => {
          const expected = await write(store, history);
          const { tasks, total } = await store.list(alice, { limit: 10, summaries: true });
          assert.deepEqual([tasks.map(plainSummary), total], [[plainSummary(expected)], 1]);
        }),
      );
    }
    it(
      "pages through tasks of every kind in the order of a list",
      withStore(make, async (store) => {
        for (const history of [...Object.values(histories), ...Object.values(histories)]) await write(store, history);
        const whole = await store.list(alice, { limit: 100 });
        const summaries: StoredTask[] = [];
        for (let more = true; more; ) {
          const page = await store.list(alice, { limit: 4, summaries: true, after: summaries.at(-1)?.head });
          summaries.push(...page.tasks);
          ({ more } = page);
        }
        assert.deepEqual(summaries.map(plainSummary), whole.tasks.map(plainSummary));
        assert.equal(summaries.length, 2 * Object.keys(histories).length);
      }),
    );
  });
}

/** Creates a task by these writes, and returns it as a whole log. */
async function write(store: TaskStore, history: readonly TestWrite[]): Promise<StoredTask> {
  const [first, ...later] = history.map((testWrite, index) => createBody(testWrite, index + 1));
  assert.ok(first?.status !== undefined);
  const task = newTask();
  const log = [...first.records];
  const head = await store.create({ ...task, ...first, status: createStatus(task, log, first.status) });
  for (const { records, status } of later) {
    log.push(...records);
    const { key, epoch } = head;
    const statusMember = status === undefined ? {} : { status: createStatus(task, log, status) };
    const seq = log.length - records.length;
    assert.equal(await store.append(appendTo({ key, epoch, seq }, { records, ...statusMember })), "stored");
  }
  return { head: { ...head, seq: log.length }, snapshot: undefined, records: log };
}

interface Body {
  readonly records: readonly LogRecord[];
  readonly status?: TestWrite;
}

function createBody(testWrite: TestWrite, seq: number): Body {
  const { state, text } = testWrite;
  if (state === undefined) return { records: [event(seq)] };
  const messageMember = text === undefined ? {} : { message: { ...message(`m${seq}`), messageId: text } };
  const value = { taskId: "t", contextId: "c", status: { state, ...messageMember }, metadata: { [`at${seq}`]: seq } };
  const status = create(StreamResponseSchema, { payload: { case: "statusUpdate", value } });
  return { records: [{ kind: "event", seq, event: status }], status: testWrite };
}

function createStatus({ id, contextId }: NewTask, log: readonly LogRecord[], testWrite: TestWrite): WrittenStatus {
  const { state = SUBMITTED, summarized = true } = testWrite;
  const status = { state, time: 1_000 + log.length };
  return summarized ? { ...status, summary: summaryAfter(emptyTask(id, contextId), log) } : status;
}

function plainSummary(task: StoredTask) {
  const summary = foldStored(task, { artifacts: false, historyLength: 0 });
  return { seq: task.head.seq, summary: toBinary(TaskSchema, summary) };
}
