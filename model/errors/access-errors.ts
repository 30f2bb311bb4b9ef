import { errorTable, notFound } from './entry.ts';

export const ACCESS_ERRORS = errorTable({
  unauthenticated: {
    status: 401,
    title: 'No valid API key',
    remedy: 'Send `Authorization: Bearer <key>`; make one with `mayfly key create`.',
  },
  forbidden: {
    status: 403,
    title: 'This key may not do that',
    remedy:
      '`detail` says what is lacking: a scope, which another key has; an origin that may ask; or somebody else, who decides.',
  },
  project_not_found: notFound('project', '`mayfly project list`'),
  project_exists: {
    status: 409,
    title: 'A project has, or had, that id',
    remedy: 'Choose another id; that of a deleted project is not given again.',
  },
  project_in_use: {
    status: 409,
    title: 'Something of the project is still there',
    remedy:
      'End its sandboxes and delete its snapshots, captures, baked sources, schedules, functions, webhook endpoints and secrets first.',
  },
  last_admin_key: {
    status: 409,
    title: 'That is the last operator key that lasts',
    remedy:
      'Make another of scope operator with `mayfly key create`, then revoke this one. The key that `mayfly up` makes for its run does not count.',
  },
  quota_exceeded: {
    status: 409,
    title: 'A quota would be, or is, exceeded',
    remedy:
      'Delete what `detail` names, or have the quota raised with `mayfly key limit`, of a project with `mayfly project update`.',
  },
  project_quota_exceeded: {
    status: 429,
    retryable: true,
    title: 'The project has as much as it may for now',
    remedy:
      'Wait for Retry-After seconds, destroy sandboxes, or have an operator raise the quota with `mayfly project update`.',
  },
  request_refused: {
    status: 403,
    title: 'A process of this installation asked for what is not its own',
    remedy:
      'Run the same version of all processes. Where `detail` names a key, see docs/deploy.md, "Keys of the processes"; the log of the control worker has who asked.',
  },
  certificate_not_found: notFound('certificate', 'GET /v1/sandboxes/{id}/credentials'),
  public_key_refused: {
    status: 422,
    title: 'That public key cannot be signed',
    remedy: 'Send one line of an Ed25519, ECDSA or RSA (2048 bits or more) public key, without options.',
  },
});
