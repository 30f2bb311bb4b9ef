import { access } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Mark } from '../host/hypervisor.ts';
import type { HostRecord } from '../model/host.ts';
import type { Config } from '../worker/config.ts';
import { CliError } from './cli-error.ts';
import { EXIT } from './exit-codes.ts';

/** Everything that `mayfly up` runs, seen from outside. */
export interface Installation {
  apiUrl: string;
  /** An API key with the scope `admin`. */
  adminKey: string;
  hostId: string;
  kind: HostRecord['kind'];
  stateDir: string;
  /** `keep`: the machines go on running without us. `destroy`: every sandbox is destroyed and proved first. */
  stop(options: { sandboxes: 'keep' | 'destroy' }): Promise<void>;
  describe(): InstallationDescription;
}

export interface InstallationDescription {
  temporalAddress: string;
  /** Null when the server is not ours, or has no UI. */
  temporalUiUrl: string | null;
  /** MongoDB connection string, without credentials. */
  storeUri: string;
  /** Null on a simulated host. */
  libvirtUri: string | null;
  /** Folders to look into for residue, and lease files. */
  sandboxesDir: string;
  credentialsDir: string;
  leaseFiles: string[];
}

/** One chain's result, as store/audit-verification.ts gives it. */
export interface ChainVerification {
  ok: boolean;
  problems: { seq: number | null; kind: string; detail: string }[];
}

export interface InstallationModule {
  /** `onProgress` gets one sentence a phase. Rejects, with everything stopped again, when a part does not start. */
  startInstallation: (config: Config, onProgress: (line: string) => void) => Promise<Installation>;
}
export interface ServeModule {
  /** Runs one process until the signal is aborted. */
  serve: (config: Config, signal: AbortSignal) => Promise<void>;
}
export interface ResidueModule {
  /** Marks on this machine whose sandbox the store does not say is alive. */
  findResidue: (config: Config) => Promise<Mark[]>;
  /** Removes only what carries that sandbox's name; resolves when it was looked at again and is absent. */
  removeResidue: (config: Config, sandboxId: string) => Promise<void>;
}
export interface AuditModule {
  /** All chains when `ids` is empty. */
  verifyAudit: (config: Config, ids: string[]) => Promise<Map<string, ChainVerification>>;
}

interface Modules {
  'installation.ts': InstallationModule;
  'serve-api.ts': ServeModule;
  'serve-control.ts': ServeModule;
  'serve-host.ts': ServeModule;
  'residue.ts': ResidueModule;
  'audit.ts': AuditModule;
}

/**
 * A part of worker/, loaded when a command needs it: the commands that only speak HTTP start without it.
 * @throws CliError when this build has no such part
 */
export async function workerPart<F extends keyof Modules>(file: F): Promise<Modules[F]> {
  const url = new URL(`../worker/${file}`, import.meta.url);
  await access(fileURLToPath(url)).catch((cause: unknown) => {
    const why = `worker/${file} is missing`;
    throw new CliError(EXIT.failed, 'This build of Mayfly is not complete', why, 'Check the tree out again.', {
      cause,
    });
  });
  return (await import(url.href)) as Modules[F];
}
