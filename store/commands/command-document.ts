import type { Schema } from 'mongoose';
import { COMMAND_OUTCOMES, COMMAND_STATES, type CommandRecord } from '../../model/sandbox/command.ts';
import { NAME, NULLABLE_NUMBER, NULLABLE_TEXT, NUMBER, strictPart, strictSchema, TEXT } from '../mongo/schema.ts';

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
    spec: { type: specPart(), required: true },
    createdBy: { type: strictPart({ apiKeyId: NAME, agentId: NULLABLE_TEXT }), required: true },
    state: { type: String, required: true, enum: COMMAND_STATES },
    requestedAt: NAME,
    startedAt: NULLABLE_TEXT,
    endedAt: NULLABLE_TEXT,
    outcome: { type: String, default: null, enum: [...COMMAND_OUTCOMES, null] },
    exitCode: NULLABLE_NUMBER,
    signal: NULLABLE_TEXT,
    reason: NULLABLE_TEXT,
    failure: { type: strictPart({ code: NAME, message: TEXT }), default: null },
    stdout: { type: summary, required: true },
    stderr: { type: summary, required: true },
  });
}

function specPart(): Schema {
  return strictPart({
    command: NULLABLE_TEXT,
    argv: { type: [String], default: null },
    envNames: [String],
    cwd: NULLABLE_TEXT,
    user: NULLABLE_TEXT,
    timeoutSeconds: NUMBER,
    maxOutputBytes: NUMBER,
    stdinOpen: { type: Boolean, required: true },
  });
}
