/** How a caller wants a sandbox to come to its machine. `auto`: the quickest way there is. */
export const BOOT_WISHES = ['auto', 'cold', 'template'] as const;
export type BootWish = (typeof BOOT_WISHES)[number];

/**
 * How a sandbox came to its machine. `warm`: it ran already, in a pool. `template`: it woke from the memory of a machine like
 * it. `cold`: its guest booted.
 */
export const BOOT_WAYS = ['warm', 'template', 'cold'] as const;
export type BootWay = (typeof BOOT_WAYS)[number];

/**
 * Why it was not a quicker way; the closed list. `pool_empty`: none of its pool's members could be had. `asked`: the caller
 * wanted it so. `origin`: it is made of a snapshot or a capture. `unsupported`: the host makes no templates, or none of that machine. `no_template`: none is ready yet.
 * `template_failed`: it did not wake. `template_changed`: what was saved is not what it was.
 */
export const BOOT_REASONS = [
  'pool_empty',
  'asked',
  'origin',
  'unsupported',
  'no_template',
  'template_failed',
  'template_changed',
] as const;
export type BootReason = (typeof BOOT_REASONS)[number];

export interface Boot {
  way: BootWay;
  /** Null: it was the quickest. */
  why: BootReason | null;
  /** What it woke from; null: it booted. */
  templateId: string | null;
  /** How old that was. */
  ageSeconds: number | null;
}
