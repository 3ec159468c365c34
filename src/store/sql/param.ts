import { type Expression, type OperationNode, ValueNode } from "kysely";

/** A parameter of a statement compiled once; each run supplies its value. */
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

/** An input of a query: a value, or the parameter in its place. */
export type QueryInput<T> = T | Param<T>;

/** Converts a given value, or a later parameter, to the form sent to the database. */
export function sentAs<T, U>(given: QueryInput<T>, send: (value: T) => U): QueryInput<U> {
  return given instanceof Param ? new Param((args) => send(given.valueFor(args))) : send(given);
}
