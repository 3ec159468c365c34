import { type Expression, type OperationNode, ValueNode } from "kysely";

/** A parameter of a statement that is compiled once: it takes its value from the arguments of each run. */
export class Param<T> implements Expression<T> {
  readonly valueFor: (args: object) => T;

  constructor(valueFor: (args: object) => T) {
    this.valueFor = valueFor;
  }

  get expressionType(): T | undefined {
    return undefined;
  }

  toOperationNode(): OperationNode {
    return ValueNode.create(this);
  }
}

/** Something that a query is given: a value, or the parameter that stands for it. */
export type Given<T> = T | Param<T>;

/** What a database is to be sent instead of something given. */
export function sentAs<T, U>(given: Given<T>, send: (value: T) => U): Given<U> {
  return given instanceof Param ? new Param((args) => send(given.valueFor(args))) : send(given);
}
