import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { activateCommand } from './activate.ts';
import { deleteCommand } from './delete.ts';
import { deployCommand } from './deploy.ts';
import { initCommand } from './init.ts';
import { listCommand } from './list.ts';
import { pauseCommand, resumeCommand } from './pause.ts';
import { batchCommand } from './run/batch.ts';
import { cancelCommand } from './run/cancel.ts';
import { diffCommand } from './run/diff.ts';
import { invokeCommand } from './run/invoke.ts';
import { logsCommand } from './run/logs.ts';
import { openCommand } from './run/open.ts';
import { redriveCommand } from './run/redrive.ts';
import { replayCommand } from './run/replay.ts';
import { resultCommand } from './run/result.ts';
import { runCommand } from './run/run.ts';
import { runsCommand } from './run/runs.ts';
import { triggerCommand } from './run/trigger.ts';
import { showCommand } from './show.ts';

/** `mayfly function init|deploy|list|show|pause|resume|activate|delete`, and of its runs `invoke|trigger|batch|runs|run|logs|result|diff|open|replay|redrive|cancel` */
export function functionCommand(io: Io) {
  return defineCommand({
    meta: {
      name: 'function',
      description: 'Functions: programs that run once for each event, in a sandbox of its own',
    },
    subCommands: {
      init: initCommand(io),
      deploy: deployCommand(io),
      list: listCommand(io),
      show: showCommand(io),
      invoke: invokeCommand(io),
      trigger: triggerCommand(io),
      batch: batchCommand(io),
      runs: runsCommand(io),
      run: runCommand(io),
      logs: logsCommand(io),
      result: resultCommand(io),
      diff: diffCommand(io),
      open: openCommand(io),
      replay: replayCommand(io),
      redrive: redriveCommand(io),
      cancel: cancelCommand(io),
      pause: pauseCommand(io),
      resume: resumeCommand(io),
      activate: activateCommand(io),
      delete: deleteCommand(io),
    },
  });
}
