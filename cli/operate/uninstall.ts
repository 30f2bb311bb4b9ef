import { isMayflyError } from '../../model/errors.ts';
import { repository } from '../../worker/config/artifacts.mjs';
import { readConfig } from '../../worker/config/config.ts';
import { flag, JSON_OPTION } from '../terminal/arguments.ts';
import { CliError, EXIT } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';

/** Message about parts that may have existed before set-up. */
const LEFT = `Left as they are: Debian packages (qemu, libvirt and others), units of systemd, and ${repository}.`;

/**
 * `mayfly uninstall`: lists everything that set-up and `mayfly up` created on this machine, and removes it on
 * confirmation.
 */
export const uninstallCommand = customCommand({
  args: {
    yes: flag('Remove what is listed'),
    ...JSON_OPTION,
  },
  async run({ io, args }) {
    const { withInstalledParts: withInstalled } = await import('../../worker/machine/uninstall.ts');
    const installed = withInstalled(readConfig(io.env), async ({ sandboxIds, removals }) => {
      const whats = removals.map(({ what }) => what);
      if (args.yes && sandboxIds.length > 0) throw refusal(sandboxIds);
      if (!args.json) for (const line of formatRemovals(whats, sandboxIds)) io.print(line);
      if (args.yes) {
        for (const { what, remove } of removals) {
          await remove();
          if (!args.json) io.print(`removed ${what}`);
        }
      }
      if (args.json) io.printJson({ removed: args.yes, sandboxes: sandboxIds, items: whats });
      else io.print(args.yes ? LEFT : nextStep(removals.length, sandboxIds.length));
      return EXIT.ok;
    });
    return installed.catch((error: unknown) => {
      if (!isMayflyError(error, 'state_folder_in_use')) throw error;
      throw new CliError(EXIT.unavailable, 'Mayfly runs here', error.message, 'Stop it with Ctrl-C first.', {
        cause: error,
      });
    });
  },
});

function formatRemovals(whats: string[], sandboxIds: string[]): string[] {
  return [...sandboxIds.map((id) => `${id}: something of it is here`), ...whats];
}

function nextStep(removals: number, sandboxes: number): string {
  if (removals === 0) return 'Nothing of Mayfly is on this machine but this clone.';
  const first = sandboxes > 0 ? ` Destroy the sandboxes first (\`mayfly up\`, \`mayfly sandbox destroy --all\`).` : '';
  return `Nothing was removed.${first} \`mayfly uninstall --yes\` removes these. ${LEFT}`;
}

function refusal(sandboxIds: string[]): CliError {
  return new CliError(
    EXIT.failed,
    'nothing was removed',
    `something of these sandboxes is on this machine: ${sandboxIds.join(', ')}`,
    'Run `mayfly up` and destroy them; `mayfly doctor` lists what is left of them.',
  );
}
