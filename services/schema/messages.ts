/** Problem and its position, a JSON Pointer (RFC 6901); `''` for the whole. */
export interface Problem {
  field: string;
  problem: string;
}

/** Question to the validator process. Schema and data are JSON texts, which preserves their exact meaning. */
export interface Question {
  schema: string;
  /** Key of the compiled schema. Without `data` the schema is only checked, and not cached. */
  digest?: string;
  data?: string;
  /** `exactValue` of the data, where a double cannot hold each of its numbers. */
  exact?: string;
}

/** Answer; `invalid` when the schema itself is unusable. */
export type Answer = { invalid: Problem } | { problems: Problem[] };

/** Message of the process: ready for questions; the current step, each with its own time limit; the answer. */
export type ValidatorMessage = { said: 'ready' } | { said: ValidatorStep } | { said: 'answer'; answer: Answer };

/** Step; every question starts with `compiles`. */
export type ValidatorStep = 'compiles' | 'validates';
