import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Io } from '../cli/terminal/io.ts';
import { ERRORS_BY_NOUN } from '../model/errors.ts';
import { cliPage } from './docs/cli.ts';
import { pictures } from './docs/pictures.ts';
import { readOnlyPage } from './docs/read-only.ts';

/** `npm run docs`: writes docs/errors.md, the pictures and the table in docs/read-only.md. */
const sections = Object.entries(ERRORS_BY_NOUN).map(([noun, errors]) => {
  const rows = Object.entries(errors).map(
    ([code, { status, retryable, title, remedy }]) =>
      `| <a id="${code}"></a>\`${code}\` | ${status} | ${retryable ? 'yes' : 'no'} | ${cell(title)} | ${cell(remedy)} |`,
  );
  return [
    `## ${noun}`,
    '',
    '| Code | Status | Retry | What happened | What to do |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n');
});

const page = `# Errors

Generated from model/errors/ by \`npm run docs\`; do not edit.

The same code is the \`code\` of an answer in \`application/problem+json\` (RFC 9457), the \`type\` of a failure in the
Temporal UI, and the \`failure.code\` of a sandbox. "Retry" says that the same request can succeed later without a
change; such answers carry \`Retry-After\`.

${sections.join('\n\n')}
`;

await writeFile(fileURLToPath(new URL('../docs/errors.md', import.meta.url)), page);

const readOnly = fileURLToPath(new URL('../docs/read-only.md', import.meta.url));
await writeFile(readOnly, readOnlyPage(await readFile(readOnly, 'utf8')));

const quiet = { write: () => true };
const never = new AbortController().signal;
const io = new Io({ stdout: quiet, stderr: quiet, env: {}, signal: never, force: never });
await writeFile(fileURLToPath(new URL('../docs/cli.md', import.meta.url)), await cliPage(io));

for (const [file, drawn] of Object.entries(await pictures())) {
  await writeFile(fileURLToPath(new URL(`../docs/${file}`, import.meta.url)), drawn);
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
