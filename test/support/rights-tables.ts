import type { ProcessName } from './store-guard.ts';

/** Rights that no quiet life of a quick test needs, by what needs them. */
export const RARE: Record<ProcessName, Record<string, readonly string[]>> = {
  control: {
    'an upgrade (store/layout.ts)': ['idempotency update', 'apiKeys update'],
    'a chain that is broken, or verified (store/audit/)': [
      'auditQueue insert',
      'auditQueue update',
      'auditQueue remove',
    ],
    'what a lost host left open (activities/reconcile/)': [
      'commands update',
      'uses insert',
      'reconciled insert',
      'hosts update',
      'measuredDisks insert',
      'measuredDisks update',
      'hostSigners remove',
    ],
    'an installation of before there were request keys (store/access/signers.ts)': [
      'hostSigners find',
      'hostSigners insert',
    ],
    'templates, which a simulated host makes none of (activities/template/)': ['templates insert', 'templates update'],
    'pools (activities/pool/)': [
      'pools insert',
      'pools update',
      'poolShares find',
      'poolShares insert',
      'poolShares update',
      'poolShares remove',
      'admissions find',
      'admissions insert',
      'admissions update',
    ],
    'builds of images (activities/image/)': [
      'commands insert',
      'launches insert',
      'images find',
      'images update',
      'imageLayers insert',
      'imageLayers update',
      'imageContexts find',
      'imageContexts remove',
    ],
    'running sources (activities/source/)': ['captures insert', 'captures update', 'sources insert', 'sources update'],
  },
  host: {
    'what is left of somebody (worker/upkeep/)': ['endedSandboxes find', 'captures find', 'templates find'],
    'a restart during a command (commands/)': ['output find'],
  },
  api: {
    'a create that is answered before its saga has begun (api/sandboxes/)': ['sandboxes insert'],
    'quotas of a project (store/access/admissions.ts)': ['admissions find', 'admissions insert', 'admissions update'],
    'pools that projects share (store/pools/pool-shares.ts)': ['poolShares find'],
    'builds of images (api/images/)': [
      'images find',
      'images insert',
      'images remove',
      'imageLayers find',
      'imageContexts insert',
      'imageContexts remove',
    ],
    'sessions of MCP (api/mcp/)': [
      'mcpSessions find',
      'mcpSessions insert',
      'mcpSessions update',
      'mcpSessions remove',
      'mcpEvents find',
      'mcpEvents insert',
      'mcpEvents update',
    ],
    'open ports (api/ports/, api/ingress/)': [
      'exposedPorts find',
      'exposedPorts insert',
      'exposedPorts update',
      'exposedPorts remove',
    ],
    'approvals (api/approvals/)': [
      'policies insert',
      'approvals find',
      'approvals insert',
      'approvals update',
      'approvals remove',
    ],
  },
  proxy: {},
};
/** What a process that was taken over would do with its user, had that all rights. */
export const FORBIDDEN: Record<
  Exclude<ProcessName, 'control'>,
  Record<string, readonly ('find' | 'insert' | 'update' | 'remove')[]>
> = {
  api: {
    sandboxes: ['update', 'remove'],
    audit: ['insert', 'update', 'remove'],
    auditHeads: ['insert', 'update', 'remove'],
    auditRegister: ['insert', 'remove'],
    certificates: ['insert', 'update', 'remove'],
    serials: ['update'],
    hosts: ['insert', 'remove'],
    hostSigners: ['find', 'insert', 'remove'],
    output: ['insert', 'update'],
    layout: ['update'],
  },
  host: {
    apiKeys: ['insert', 'update', 'remove'],
    apiSigners: ['insert'],
    sandboxes: ['insert', 'update', 'remove'],
    audit: ['find', 'insert', 'update', 'remove'],
    auditHeads: ['find', 'update', 'remove'],
    certificates: ['find', 'insert', 'update', 'remove'],
    hosts: ['remove'],
    hostSigners: ['find', 'insert', 'remove'],
    relays: ['find', 'remove'],
    projects: ['insert', 'update'],
    idempotency: ['find'],
    output: ['remove'],
  },
  proxy: {
    sandboxes: ['insert', 'update', 'remove'],
    apiKeys: ['find', 'insert'],
    audit: ['find', 'insert'],
    relays: ['find'],
  },
};
