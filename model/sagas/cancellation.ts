import { NO_PROJECT } from '../project.ts';
import type { Actor } from '../sandbox/sandbox.ts';

/** Actor of what follows from the cancellation of a workflow in Temporal, by its UI or CLI. No API key has this id. */
export const TEMPORAL_OPERATOR: Actor = { apiKeyId: 'temporal', agentId: null, project: NO_PROJECT };
