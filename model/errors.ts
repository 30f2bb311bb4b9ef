import { ACCESS_ERRORS } from './errors/access-errors.ts';
import { APPROVAL_ERRORS } from './errors/approval-errors.ts';
import { COMMAND_ERRORS } from './errors/command-errors.ts';
import { DESKTOP_ERRORS } from './errors/desktop-errors.ts';
import type { ErrorEntry } from './errors/entry.ts';
import { FILE_ERRORS } from './errors/file-errors.ts';
import { FUNCTION_ERRORS } from './errors/function-errors.ts';
import { HOST_ERRORS } from './errors/host-errors.ts';
import { IMAGE_ERRORS } from './errors/image-errors.ts';
import { PLAYBOOK_ERRORS } from './errors/playbook-errors.ts';
import { PORT_ERRORS } from './errors/port-errors.ts';
import { REQUEST_ERRORS } from './errors/request-errors.ts';
import { SAGA_ERRORS } from './errors/saga-errors.ts';
import { SANDBOX_ERRORS } from './errors/sandbox-errors.ts';
import { SNAPSHOT_ERRORS } from './errors/snapshot-errors.ts';
import { CAPTURE_ERRORS, SOURCE_ERRORS, TEMPLATE_ERRORS } from './errors/source-errors.ts';

/**
 * Closed table of errors by subject. Each key is the `code` of a problem+json answer, the `type` of a Temporal
 * ApplicationFailure and the `failure.code` of a sandbox's record. docs/errors.md is generated from it.
 */
export const ERRORS_BY_NOUN = {
  Requests: REQUEST_ERRORS,
  'Keys and certificates': ACCESS_ERRORS,
  'Policies and approvals': APPROVAL_ERRORS,
  Sandboxes: SANDBOX_ERRORS,
  Snapshots: SNAPSHOT_ERRORS,
  Commands: COMMAND_ERRORS,
  Files: FILE_ERRORS,
  Ports: PORT_ERRORS,
  Desktop: DESKTOP_ERRORS,
  Sources: SOURCE_ERRORS,
  Captures: CAPTURE_ERRORS,
  'Templates and pools': TEMPLATE_ERRORS,
  Images: IMAGE_ERRORS,
  Playbooks: PLAYBOOK_ERRORS,
  Functions: FUNCTION_ERRORS,
  'Hosts and guests': HOST_ERRORS,
  'Sagas and what Mayfly stands on': SAGA_ERRORS,
} as const;

type Tables = typeof ERRORS_BY_NOUN;
export type ErrorCode = { [Noun in keyof Tables]: keyof Tables[Noun] }[keyof Tables];

export const ERRORS: Readonly<Record<ErrorCode, ErrorEntry>> = Object.assign({}, ...Object.values(ERRORS_BY_NOUN));

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text);
}

/** Error for a person: what happened (`message`), its kind (`code`), and further facts (`options`). */
export class MayflyError extends Error {
  override readonly name = 'MayflyError';
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly options: {
      cause?: unknown;
      fields?: { field: string; problem: string }[];
      retryAfterSeconds?: number;
      /** True when the request may have started, or may still start. `@default` false */
      mayHaveBegun?: boolean;
    } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
  }
  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }
}

/** True when a thrown value is a MayflyError with that code. */
export function isMayflyError(thrown: unknown, code: ErrorCode): thrown is MayflyError {
  return thrown instanceof MayflyError && thrown.code === code;
}
