/** What is wrong, and where: a JSON Pointer (RFC 6901), `''` for the whole. */
export interface Problem {
  field: string;
  problem: string;
}

/** What the process of validators is asked. Schema and data are JSON texts, so that they arrive as the standard means them. */
export interface Question {
  schema: string;
  /** Names the schema among those that are compiled already. Without `data` the schema is only checked, and not kept. */
  digest?: string;
  data?: string;
  /** `exactValue` of the data, where a double does not hold each of its numbers. */
  exact?: string;
}

/** `invalid`: the schema itself cannot be used. */
export type Answer = { invalid: Problem } | { problems: Problem[] };

/** What that process says: it takes questions; what it now does for the one in hand, each with a time of its own; the answer. */
export type Said = { said: 'ready' } | { said: Doing } | { said: 'answer'; answer: Answer };

/** A question begins with `compiles`. */
export type Doing = 'compiles' | 'validates';
