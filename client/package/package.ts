/**
 * What the package `@mayfly/client` gives to programs elsewhere. Nothing in this repository imports it.
 *
 * @module
 */

export type { Envelope, ReceiptKey, Statement } from '../../model/functions/receipt.ts';
export type { BootWish } from '../../model/sandbox/boot.ts';
export type { Proof } from '../../model/sandbox/proof.ts';
export type { SandboxRecord, SandboxState } from '../../model/sandbox/sandbox.ts';
export type { Approval } from '../approvals.ts';
export type { CreateSandbox } from '../create-sandbox.ts';
export type { NextTime, Schedule, ScheduleTime, SetSchedule } from '../functions/schedules.ts';
export type { CompletedWaitpoint, CreateWaitpoint, Waitpoint, WaitpointToken } from '../functions/waitpoints.ts';
export type { DeployedFunction, DeployFunction, FunctionVersion } from '../functions.ts';
export { ApprovalNeededError, MayflyApiError, MayflyConnectionError, MayflyDeadlineError } from '../http/api-error.ts';
export type { Page, PageOptions, WaitOptions } from '../http/options.ts';
export type { Problem } from '../http/problem.ts';
export type { CallOptions, ClientOptions, PostOptions } from '../http/transport.ts';
export { ReceiptError, type VerifiedReceipt, verifyReceipt } from '../receipts/verify-receipt.ts';
export type {
  BatchItem,
  CloudEvent,
  CreateRun,
  EndedOptions,
  EventOptions,
  Invoked,
  Run,
  RunOutput,
  RunOutputOptions,
  RunResult,
  RunsQuery,
} from '../run-shapes.ts';
export type { Command, CommandOutput, RunCommand } from '../sandbox/commands.ts';
export type { Content, FileContent, FileEntry, GuestPath, WriteOptions } from '../sandbox/files.ts';
export type { Secret, SecretDetail } from '../secret/secrets.ts';
export type { ForkSandbox, RestoreSandbox, Snapshot, TakeSnapshot } from '../snapshots.ts';
export type {
  CreateWebhookEndpoint,
  NewWebhookEndpoint,
  WebhookDelivery,
  WebhookEndpoint,
} from '../webhooks/webhook-endpoints.ts';
export { Mayfly } from './mayfly.ts';
export type { RunningCommand } from './running-command.ts';
export type { Ran, Sandbox, WhatToRun } from './sandbox.ts';
