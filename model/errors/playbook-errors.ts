import { errorTable, notFound } from './entry.ts';

/** Errors of playbooks written from a sandbox's changes. */
export const PLAYBOOK_ERRORS = errorTable({
  playbook_not_found: notFound('playbook', 'GET /v1/playbooks'),
  playbook_not_written: {
    status: 409,
    retryable: true,
    title: 'The playbook is not written yet',
    remedy:
      'Read it (GET /v1/playbooks/{id}) until its state is `checked` or `unchecked`; of one that failed, `failure` says why.',
  },
  playbook_failed: {
    status: 500,
    retryable: true,
    title: 'A playbook could not be written',
    remedy: 'See `failure` of the playbook. Nothing of it is left; ask again.',
  },
});
