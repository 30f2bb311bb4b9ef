import { defineCommand } from 'citty';
import { auditCommand } from './audit.ts';
import { caCommand } from './ca.ts';
import { captureCommand } from './capture/commands.ts';
import { commandCommands } from './command/commands.ts';
import { cpCommand } from './cp.ts';
import { credentialCommand } from './credential.ts';
import { demoCommand } from './demo/command.ts';
import { diffCommand } from './diff/command.ts';
import { doctorCommand } from './doctor/command.ts';
import { hostCommand } from './host.ts';
import type { Io } from './io.ts';
import { keyCommand } from './key.ts';
import { hibernateCommand, pauseCommand, resumeCommand } from './pause.ts';
import { runCommand } from './run.ts';
import { createCommand } from './sandbox/create.ts';
import { destroyCommand } from './sandbox/destroy.ts';
import { extendCommand } from './sandbox/extend.ts';
import { getCommand } from './sandbox/get.ts';
import { listCommand } from './sandbox/list.ts';
import { serveCommand } from './serve.ts';
import { snapshotCommand } from './snapshot/commands.ts';
import { forkCommand } from './snapshot/fork.ts';
import { restoreCommand } from './snapshot/restore.ts';
import { sourceCommand } from './source/commands.ts';
import { sshCommand } from './ssh.ts';
import { upCommand } from './up.ts';

/** All of `mayfly`. */
export function createCommands(io: Io) {
  const sandbox = defineCommand({
    meta: { name: 'sandbox', description: 'Sandboxes' },
    subCommands: {
      create: createCommand(io),
      list: listCommand(io),
      get: getCommand(io),
      extend: extendCommand(io),
      destroy: destroyCommand(io),
    },
  });
  return defineCommand({
    meta: { name: 'mayfly', description: 'Disposable virtual machines for AI agents' },
    subCommands: {
      up: upCommand(io),
      demo: demoCommand(io),
      doctor: doctorCommand(io),
      sandbox,
      pause: pauseCommand(io),
      hibernate: hibernateCommand(io),
      resume: resumeCommand(io),
      snapshot: snapshotCommand(io),
      restore: restoreCommand(io),
      fork: forkCommand(io),
      diff: diffCommand(io),
      capture: captureCommand(io),
      run: runCommand(io),
      command: commandCommands(io),
      cp: cpCommand(io),
      ssh: sshCommand(io),
      credential: credentialCommand(io),
      ca: caCommand(io),
      key: keyCommand(io),
      audit: auditCommand(io),
      host: hostCommand(io),
      source: sourceCommand(io),
      serve: serveCommand(io),
    },
  });
}
