import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { backfillCommand, deleteCommand, pauseCommand, resumeCommand, triggerCommand } from './acts.ts';
import { createCommand } from './create.ts';
import { listCommand } from './list.ts';
import { showCommand } from './show.ts';
import { missedCommand, nextCommand, timesCommand } from './times.ts';

/** `mayfly schedule create|list|show|next|times|missed|pause|resume|trigger|backfill|delete` */
export function scheduleCommand(io: Io) {
  return defineCommand({
    subCommands: {
      create: createCommand(io),
      list: listCommand(io),
      show: showCommand(io),
      next: nextCommand(io),
      times: timesCommand(io),
      missed: missedCommand(io),
      pause: pauseCommand(io),
      resume: resumeCommand(io),
      trigger: triggerCommand(io),
      backfill: backfillCommand(io),
      delete: deleteCommand(io),
    },
  });
}
