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
export function mapInput<T, U>(input: QueryInput<T>, send: (value: T) => U): QueryInput<U> {
  return input instanceof Param ? new Param((args) => send(input.valueFor(args))) : send(input);
}
