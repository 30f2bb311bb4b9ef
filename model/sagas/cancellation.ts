import { NO_PROJECT } from '../project.ts';
import type { Actor } from '../sandbox/sandbox.ts';

/** Actor of consequences of a cancellation in Temporal's UI or CLI. No API key has this id. */
export const TEMPORAL_OPERATOR: Actor = { apiKeyId: 'temporal', agentId: null, project: NO_PROJECT };
