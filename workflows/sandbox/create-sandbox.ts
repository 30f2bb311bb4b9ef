import type { SandboxEntity } from '../entity/entity.ts';
import { control } from '../saga/control.ts';
import { saga } from '../saga/saga.ts';
import { Placement } from './placement.ts';

/**
 * From a request to a sandbox that is known to work:
 *
 *   placement (reserve → cloneDisk on one host after another) → certificate → start (bootDomain → awaitIp → verifySsh) → running
 *
 * Each of the two is one activity on the host's queue, and each of its steps an "ensure" with a time of its own:
 * repeating it is harmless. The undos of its steps stand above the activity, so they also cover a step that failed after its
 * effect. When a step fails, or the sandbox is deleted or expires meanwhile, the undos run newest first, each until it
 * holds; the sandbox is called `failed` or `destroyed` only after the host has been looked at again (destroy-sandbox.ts).
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
    undo('awaitIp', host.releaseLease); // a guest may hold a lease as soon as it has booted
    undo('bootDomain', host.removeDomain);
    const { ssh, boot } = await host.start(clone, certificate);
    const { missed } = entity.input;
    const viaPool = missed && ({ way: 'cold', templateId: null, ageSeconds: null, ...boot, why: missed } as const);
    entity.enter('verifying-ssh', { ssh, boot: viaPool ?? boot });
    entity.templateKey = clone.templateKey ?? null;
  }, beforeUndo);
}

/**
 * From a request to a guest that boots with its cable out, and knows nobody whom it could let in:
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
