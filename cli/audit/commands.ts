import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { acceptCommand } from './accept.ts';
import { exportCommand } from './export.ts';
import { showCommand } from './show.ts';
import { verifyCommand } from './verify.ts';

/** `mayfly audit` */
export function auditCommand(io: Io) {
  return defineCommand({
    subCommands: {
      show: showCommand(io),
      verify: verifyCommand(io),
      export: exportCommand(io),
      accept: acceptCommand(io),
    },
  });
}
