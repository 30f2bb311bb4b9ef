import { errorTable, notFound } from './entry.ts';

/** Errors of policies and approvals. */
export const APPROVAL_ERRORS = errorTable({
  policy_denied: {
    status: 403,
    title: 'The policy of the project denies it',
    remedy: '`detail` names the rules: `mayfly policy get` has them. Ask for something that they allow.',
  },
  policy_changed: {
    status: 412,
    title: 'The policy is not the one that is named any more',
    remedy: 'Read it again with GET /v1/policies, and change what is there.',
  },
  idempotency_key_required: {
    status: 400,
    title: 'What needs an approval needs an Idempotency-Key',
    remedy: 'Send the request with one, and the same one again when it is approved.',
  },
  approval_not_found: notFound('approval', '`mayfly approval list`'),
  approval_refused: {
    status: 403,
    title: 'It was refused',
    remedy: '`detail` has the reason, if one was given. Ask for something else, with another Idempotency-Key.',
  },
  approval_stale: {
    status: 409,
    title: 'The approval is for something else than what would be done now',
    remedy: 'Ask again with another Idempotency-Key; who decides sends the `digest` of what was shown.',
  },
  approval_decided: {
    status: 409,
    title: 'The approval has come to something else already',
    remedy: '`detail` says what. To ask again takes another Idempotency-Key.',
  },
  approvals_full: {
    status: 429,
    retryable: true,
    title: 'Too many requests of the project wait for approval',
    remedy: 'Have those decided that wait (`mayfly approval list`), or withdraw some.',
  },
});
