import { readdir, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MayflyError } from '../../model/errors.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import type { StateDir } from '../state-dir.ts';
import { BOOT_SCRIPT, killDomain } from './machine/domain.ts';
import { ProcessTable } from './machine/processes.ts';
import { Suspension } from './machine/suspension.ts';

/** State of the machine in its kernel and folders: sandboxes with processes, and with a workspace. */
export class SimulatedMachine {
  #processTable: ProcessTable | null = null;

  constructor(private readonly state: StateDir) {}

  /** @throws Error when no host ever used this folder */
  async open(): Promise<void> {
    this.#processTable = new ProcessTable(await realpath(this.state.sandboxes), BOOT_SCRIPT);
  }

  close(): void {
    this.#processTable = null;
  }

  /** @throws MayflyError host_unavailable */
  get processes(): ProcessTable {
    if (this.#processTable) return this.#processTable;
    throw new MayflyError('host_unavailable', 'The simulated host is not open.');
  }

  async isOn(sandboxId: string): Promise<boolean> {
    return this.processes.runs(sandboxId);
  }

  /** True when a sandbox known to run has ended since the last call. */
  someEnded(): boolean {
    return this.processes.someEnded();
  }

  async stop(sandboxId: string): Promise<void> {
    await killDomain(sandboxId, this.processes);
  }

  async suspension(sandboxId: string): Promise<Suspension> {
    return new Suspension(sandboxId, await this.workspace(sandboxId), this.processes);
  }

  /** Returns the folder of a sandbox, existing or not, without symbolic links, as the kernel shows it in /proc. */
  async workspace(sandboxId: string): Promise<string> {
    return join(await realpath(this.state.sandboxes), basename(this.state.workspace(sandboxId)));
  }

  async stored(): Promise<string[]> {
    return (await readdir(this.state.sandboxes)).map((name) => name.replace(/\.new$/, '')).filter(isSandboxId);
  }
}
