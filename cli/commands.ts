import { type CommandDef, defineCommand } from 'citty';
import type { Io } from './terminal/io.ts';

/** All of `mayfly`. A command is loaded when it is called for: most need a small part of what all need together. */
export function createCommands(io: Io) {
  const sandbox = defineCommand({
    meta: { name: 'sandbox', description: 'Sandboxes' },
    subCommands: {
      create: async () => (await import('./sandbox/create.ts')).createCommand(io),
      list: async () => (await import('./sandbox/list.ts')).listCommand(io),
      get: async () => (await import('./sandbox/get.ts')).getCommand(io),
      extend: async () => (await import('./sandbox/extend.ts')).extendCommand(io),
      destroy: async () => (await import('./sandbox/destroy.ts')).destroyCommand(io),
    },
  });
  const root: CommandDef = defineCommand({
    meta: { name: 'mayfly', description: 'Disposable virtual machines for AI agents' },
    subCommands: {
      up: async () => (await import('./up.ts')).upCommand(io),
      demo: async () => (await import('./demo/command.ts')).demoCommand(io),
      doctor: async () => (await import('./doctor/command.ts')).doctorCommand(io),
      sandbox,
      // As docker and kubectl call them.
      ps: async () => (await import('./sandbox/list.ts')).listCommand(io),
      ls: async () => (await import('./sandbox/list.ts')).listCommand(io),
      rm: async () => (await import('./sandbox/destroy.ts')).destroyCommand(io),
      top: async () => (await import('./top/command.ts')).topCommand(io),
      exec: async () => (await import('./run.ts')).runCommand(io),
      pause: async () => (await import('./pause.ts')).pauseCommand(io),
      hibernate: async () => (await import('./pause.ts')).hibernateCommand(io),
      resume: async () => (await import('./pause.ts')).resumeCommand(io),
      snapshot: async () => (await import('./snapshot/commands.ts')).snapshotCommand(io),
      restore: async () => (await import('./snapshot/restore.ts')).restoreCommand(io),
      fork: async () => (await import('./snapshot/fork.ts')).forkCommand(io),
      diff: async () => (await import('./diff/command.ts')).diffCommand(io),
      playbook: async () => (await import('./playbook/command.ts')).playbookCommand(io),
      capture: async () => (await import('./capture/commands.ts')).captureCommand(io),
      template: async () => (await import('./template/commands.ts')).templateCommand(io),
      run: async () => (await import('./run.ts')).runCommand(io),
      logs: async () => (await import('./logs.ts')).logsCommand(io),
      command: async () => (await import('./command/commands.ts')).commandCommands(io),
      cp: async () => (await import('./cp.ts')).cpCommand(io),
      port: async () => (await import('./port/commands.ts')).portCommand(io),
      desktop: async () => (await import('./desktop/commands.ts')).desktopCommand(io),
      ssh: async () => (await import('./ssh/ssh.ts')).sshCommand(io),
      credential: async () => (await import('./credential.ts')).credentialCommand(io),
      ca: async () => (await import('./ca.ts')).caCommand(io),
      key: async () => (await import('./key.ts')).keyCommand(io),
      pool: async () => (await import('./pool/commands.ts')).poolCommand(io),
      approval: async () => (await import('./approval/commands.ts')).approvalCommand(io),
      policy: async () => (await import('./approval/policy.ts')).policyCommand(io),
      project: async () => (await import('./project/project.ts')).projectCommand(io),
      audit: async () => (await import('./audit/commands.ts')).auditCommand(io),
      store: async () => (await import('./store.ts')).storeCommand(io),
      host: async () => (await import('./host.ts')).hostCommand(io),
      source: async () => (await import('./source/commands.ts')).sourceCommand(io),
      image: async () => (await import('./image/commands.ts')).imageCommand(io),
      function: async () => (await import('./function/commands.ts')).functionCommand(io),
      dev: async () => (await import('./function/dev.ts')).devCommand(io),
      hook: async () => (await import('./hook/commands.ts')).hookCommand(io),
      trigger: async () => (await import('./hook/trigger.ts')).triggerCommand(io),
      waitpoint: async () => (await import('./waitpoint/commands.ts')).waitpointCommand(io),
      secret: async () => (await import('./secret/commands.ts')).secretCommand(io),
      webhook: async () => (await import('./webhook/commands.ts')).webhookCommand(io),
      schedule: async () => (await import('./schedule/commands.ts')).scheduleCommand(io),
      receipt: async () => (await import('./receipt/commands.ts')).receiptCommand(io),
      mcp: async () => (await import('./mcp.ts')).mcpCommand(io),
      serve: async () => (await import('./serve.ts')).serveCommand(io),
      completion: async () => (await import('./completion.ts')).completionCommand(io, () => root),
    },
  });
  return root;
}
