/**
 * Entry of the package `@mayfly/client`, for programs elsewhere. Nothing in this repository imports it.
 *
 * @module
 */

export type { Statement } from '../../../model/receipts/in-toto.ts';
export type { BulkRequest } from '../functions.ts';
export type { CallOptions } from '../http/deadline.ts';
export type {
  Approval,
  Command,
  CreateSandbox,
  components,
  DeployFunction,
  FileEntry,
  Function as DeployedFunction,
  FunctionVersion,
  Run,
  Sandbox as SandboxRecord,
  Schedule,
  Snapshot,
  StartCommand,
} from '../http/openapi.ts';
export type { Problem } from '../http/problem.ts';
export { ApprovalNeededError, MayflyApiError, MayflyConnectionError, MayflyDeadlineError } from '../http/problem.ts';
export type { AnswerOf, BodyOf, OptionsOf, Page, PageOptions, Route, WaitOptions } from '../http/resource.ts';
export type { ClientOptions, PostOptions } from '../http/transport.ts';
export type { CreateOneSandbox } from '../mayfly-client.ts';
export { ReceiptError, type VerifiedReceipt, verifyReceipt } from '../receipts/verify-receipt.ts';
export type {
  BatchItem,
  CloudEvent,
  CreateRun,
  EndedOptions,
  EventOptions,
  Invoked,
  ReplayOptions,
  RunOutput,
  RunOutputOptions,
  RunResult,
} from '../run-options.ts';
export type { CommandOutput } from '../sandbox/commands.ts';
export type { Content, FileContent, GuestPath, WriteOptions } from '../sandbox/files.ts';
export type { Fork, ForkSandbox } from '../snapshots.ts';
export { Mayfly } from './mayfly.ts';
export type { RunningCommand } from './running-command.ts';
export type { CommandInput as WhatToRun, CommandResult as Ran, Sandbox } from './sandbox.ts';
