import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { showCommand } from './show.ts';
import { verifyCommand } from './verify.ts';

/** `mayfly audit` */
export function auditCommand(io: Io) {
  return defineCommand({
    meta: { name: 'audit', description: 'The audit trail' },
    subCommands: { show: showCommand(io), verify: verifyCommand(io) },
  });
}
