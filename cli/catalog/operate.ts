import type { CatalogEntry } from './listed.ts';

/** Commands in the order of `mayfly --help`. */
export const OPERATE: CatalogEntry[] = [
  {
    name: 'up',
    description: 'Run all of Mayfly on this machine, in the foreground',
    load: async (io) => (await import('../operate/up.ts')).upCommand(io),
  },
  {
    name: 'demo',
    description: 'Create, use, destroy and prove a sandbox; leaves nothing behind',
    load: async (io) => (await import('../demo/command.ts')).demoCommand(io),
  },
  {
    name: 'doctor',
    description: 'Check this machine and list what sandboxes left behind',
    load: async (io) => (await import('../doctor/command.ts')).doctorCommand(io),
  },
  {
    name: 'serve',
    description: 'Run one process alone: api, control, host or proxy',
    load: async (io) => (await import('../operate/up.ts')).serveCommand(io),
  },
  {
    name: 'mcp',
    description: 'Serve MCP on standard input and output, with the key of MAYFLY_API_KEY',
    load: async (io) => (await import('../operate/mcp.ts')).mcpCommand(io),
  },
  {
    name: 'host',
    description: 'Hosts',
    verbs: 'list drain resume forget',
    load: async (io) => (await import('../operate/host.ts')).hostCommand(io),
  },
  {
    name: 'project',
    description: 'Projects: tenants, which see nothing of each other',
    verbs: 'create list get usage update delete',
    load: async (io) => (await import('../project/project.ts')).projectCommand(io),
  },
  {
    name: 'key',
    description: 'API keys',
    verbs: 'create list limit revoke',
    load: async (io) => (await import('../operate/key.ts')).keyCommand(io),
  },
  {
    name: 'credential',
    description: 'Certificates that open a sandbox',
    verbs: 'issue list revoke',
    load: async (io) => (await import('../operate/credential.ts')).credentialCommand(io),
  },
  {
    name: 'ca',
    description: 'The user CA, which signs what opens sandboxes',
    verbs: 'get rotate',
    load: async (io) => (await import('../operate/ca.ts')).caCommand(io),
  },
  {
    name: 'approval',
    description: 'Approvals: requests that wait for somebody to let them be done',
    verbs: 'list watch get approve refuse withdraw',
    load: async (io) => (await import('../approval/commands.ts')).approvalCommand(io),
  },
  {
    name: 'policy',
    description: 'The policy: what is let be done, asked for, and denied',
    verbs: 'get update',
    load: async (io) => (await import('../approval/commands.ts')).policyCommand(io),
  },
  {
    name: 'audit',
    description: 'The audit trail',
    verbs: 'get verify export accept',
    load: async (io) => (await import('../audit/commands.ts')).auditCommand(io),
  },
  {
    name: 'store',
    description: 'What is stored',
    verbs: 'encrypt copy',
    load: async (io) => (await import('../operate/store.ts')).storeCommand(io),
  },
  {
    name: 'uninstall',
    description: 'List what set-up and `up` made on this machine; with --yes, remove it',
    load: async (io) => (await import('../operate/uninstall.ts')).uninstallCommand(io),
  },
];
