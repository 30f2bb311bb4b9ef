import type { Client } from '@temporalio/client';
import type { RequestSigner } from '../model/sandbox/signed-request.ts';
import { type Calls, WorkflowClient } from './call/workflow-client.ts';
import { CaptureWorkflows } from './client/captures.ts';
import { CertificateWorkflows } from './client/certificates.ts';
import { CommandWorkflows } from './client/commands.ts';
import { FunctionWorkflows } from './client/functions.ts';
import { HostWorkflows } from './client/hosts.ts';
import { ImageWorkflows } from './client/images.ts';
import { PlaybookWorkflows } from './client/playbooks.ts';
import { PoolWorkflows } from './client/pools.ts';
import { ReconcilerWorkflows } from './client/reconciler.ts';
import { SandboxWorkflows } from './client/sandboxes.ts';
import { ScheduleWorkflows } from './client/schedules.ts';
import { SnapshotWorkflows } from './client/snapshots.ts';
import { SourceWorkflows } from './client/sources.ts';
import { TemplateWorkflows } from './client/templates.ts';
import { DeliveryWorkflows } from './client/webhooks.ts';

type Public<T> = Pick<T, keyof T>;

/** Clients of all workflows, by noun. */
export abstract class Workflows extends WorkflowClient {
  readonly sandboxes: Public<SandboxWorkflows>;
  readonly snapshots: Public<SnapshotWorkflows>;
  readonly commands: Public<CommandWorkflows>;
  readonly certificates: Public<CertificateWorkflows>;
  readonly sources: Public<SourceWorkflows>;
  readonly captures: Public<CaptureWorkflows>;
  readonly templates: Public<TemplateWorkflows>;
  readonly images: Public<ImageWorkflows>;
  readonly pools: Public<PoolWorkflows>;
  readonly playbooks: Public<PlaybookWorkflows>;
  readonly functions: Public<FunctionWorkflows>;
  readonly schedules: Public<ScheduleWorkflows>;
  readonly deliveries: Public<DeliveryWorkflows>;
  readonly hosts: Public<HostWorkflows>;
  readonly reconciler: Public<ReconcilerWorkflows>;

  /** @param signer signs requests to the control worker; without it no certificate is issued and no event recorded */
  constructor(client: Client, calls: Calls, signer?: RequestSigner) {
    super(client, calls);
    this.sandboxes = new SandboxWorkflows(client, calls, signer);
    this.snapshots = new SnapshotWorkflows(client, calls);
    this.commands = new CommandWorkflows(client, calls);
    this.certificates = new CertificateWorkflows(client, calls, signer);
    this.sources = new SourceWorkflows(client, calls);
    this.captures = new CaptureWorkflows(client, calls);
    this.templates = new TemplateWorkflows(client, calls);
    this.images = new ImageWorkflows(client, calls);
    this.pools = new PoolWorkflows(client, calls);
    this.playbooks = new PlaybookWorkflows(client, calls);
    this.functions = new FunctionWorkflows(client, calls);
    this.schedules = new ScheduleWorkflows(client, calls);
    this.deliveries = new DeliveryWorkflows(client, calls);
    this.hosts = new HostWorkflows(client, calls);
    this.reconciler = new ReconcilerWorkflows(client, calls);
  }

  /** Reports whether a workflow of that id runs. */
  async isOpen(workflowId: string): Promise<boolean> {
    return (await this.statusOf(workflowId)) === 'RUNNING';
  }

  /** Restarts a missing workflow; if an operator has terminated it, cancels the new run, which is its orderly end. */
  async resume(workflowId: string, start: () => Promise<unknown>): Promise<void> {
    const wasTerminated = (await this.statusOf(workflowId)) === 'TERMINATED';
    await start();
    if (wasTerminated) await this.handle(workflowId).cancel();
  }

  /** Terminates a workflow that waits in vain, without running its cleanup. */
  async terminate(workflowId: string, why: string): Promise<void> {
    await this.unlessGone(() => this.handle(workflowId).terminate(why));
  }

  /** Throws unless Temporal answers. */
  async reach(): Promise<void> {
    await this.calls.call(() => this.client.workflowService.getSystemInfo({}));
  }
}
