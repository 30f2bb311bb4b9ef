import type { SandboxEntity } from '../entity/entity.ts';
import { control } from '../saga/control.ts';
import { saga } from '../saga/saga.ts';
import { Placement } from './placement.ts';

/**
 * Creates a sandbox and verifies that it works:
 *
 *   placement (reserve → cloneDisk on one host after another) → certificate → start (bootDomain → awaitIp → verifySsh) → running
 *
 * Placement and start are one activity each on the host's queue, of idempotent steps with a timeout each. Each
 * compensation is registered before its activity, so it also covers a step that failed after its effect. When a step
 * fails, or the sandbox is deleted or expires, they run newest first, each until success; the sandbox becomes `failed`
 * or `destroyed` only after the host was inspected (destroy-sandbox.ts).
 */
export async function createSandbox(
  entity: SandboxEntity,
  beforeUndo: (cause: unknown) => Promise<void>,
): Promise<void> {
  await saga(async (undo) => {
    const { keys: userCaKeys } = await control.userCaKeys();
    const placement = new Placement(entity, userCaKeys);
    undo('prepare', () => placement.compensate());
    const { host, clone } = await placement.prepare();

    const { certificate } = await host.signCertificate({ publicKey: clone.loginKey, signature: clone.loginSignature });

    entity.enter('booting', { macAddress: clone.macAddress });
    undo('awaitIp', host.releaseLease); // a booted guest may hold a lease before `awaitIp`
    undo('bootDomain', host.removeDomain);
    const { ssh, boot } = await host.start(clone, certificate);
    const { missed } = entity.input;
    const viaPool = missed && ({ way: 'cold', templateId: null, ageSeconds: null, ...boot, why: missed } as const);
    entity.enter('verifying-ssh', { ssh, boot: viaPool ?? boot });
    entity.templateKey = clone.templateKey ?? null;
  }, beforeUndo);
}

/**
 * Creates a guest that boots with its network link down, and trusts no keys:
 *
 *   placement → bootDomain
 */
export async function createOffline(
  entity: SandboxEntity,
  beforeUndo: (cause: unknown) => Promise<void>,
): Promise<void> {
  await saga(async (undo) => {
    const placement = new Placement(entity, []);
    undo('prepare', () => placement.compensate());
    const { host, clone } = await placement.prepare();
    entity.enter('booting', { macAddress: clone.macAddress });
    undo('awaitIp', host.releaseLease);
    undo('bootDomain', host.removeDomain);
    await host.bootDomain();
  }, beforeUndo);
}
