import type { Schema } from 'mongoose';
import { COMMAND_OUTCOMES, COMMAND_STATES, type CommandRecord } from '../../model/sandbox/command.ts';
import {
  actorPart,
  NAME,
  NULLABLE_NUMBER,
  NULLABLE_TEXT,
  NUMBER,
  SEALED,
  strictPart,
  strictSchema,
} from '../mongo/schema.ts';

export type CommandDocument = Omit<CommandRecord, 'id'> & { _id: string };

export function documentOf({ id, ...rest }: CommandRecord): CommandDocument {
  return { _id: id, ...rest };
}

export function recordOf({ _id, ...rest }: CommandDocument): CommandRecord {
  return { id: _id, ...rest };
}

export function commandSchema(): Schema<CommandDocument> {
  const summary = strictPart({ bytes: NUMBER, kept: NUMBER });
  return strictSchema<CommandDocument>({
    _id: NAME,
    sandboxId: NAME,
    hostId: NAME,
    installationId: NULLABLE_TEXT,
    spec: SEALED,
    createdBy: { type: actorPart(), required: true },
    state: { type: String, required: true, enum: COMMAND_STATES },
    requestedAt: NAME,
    startedAt: NULLABLE_TEXT,
    endedAt: NULLABLE_TEXT,
    outcome: { type: String, default: null, enum: [...COMMAND_OUTCOMES, null] },
    exitCode: NULLABLE_NUMBER,
    signal: NULLABLE_TEXT,
    reason: SEALED,
    failure: { type: strictPart({ code: NAME, message: SEALED }), default: null },
    stdout: { type: summary, required: true },
    stderr: { type: summary, required: true },
  });
}
