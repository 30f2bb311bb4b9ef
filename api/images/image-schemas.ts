import { z } from '@hono/zod-openapi';
import { egress } from '../../model/fields.ts';
import { imageRecord } from '../../model/image/image.ts';
import { LIMITS } from '../../model/limits.ts';
import {
  areVariablesPassable,
  idSchema,
  printable,
  programText,
  VARIABLES_FIT,
  variableName,
} from '../../model/request-fields.ts';
import { isBakedSourceName } from '../../model/snapshots/baked-source.ts';
import { instant } from '../http/schemas.ts';

const { image } = LIMITS;

export const imageParams = z.strictObject({
  id: idSchema('image', 'an image id'),
});

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hexadecimal');

export const contextParams = z.strictObject({
  digest: sha256.openapi({
    example: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  }),
});

export const contextAnswer = z
  .object({
    digest: z.string(),
    bytes: z.int(),
    entries: z.int().openapi({ description: 'Files, folders and links' }),
    expiresAt: instant.openapi({ description: 'When it is forgotten, unless a build uses it' }),
  })
  .openapi('ImageContext');

const few = (most: number) => (fields: object) => Object.keys(fields).length <= most;

export const buildImage = z
  .strictObject({
    name: z
      .string()
      .refine(isBakedSourceName, {
        message: `must be 1 to ${LIMITS.bakedSourceName.maxLength} of A-Z a-z 0-9 . _ -, begin with a letter, and look like no id`,
      })
      .openapi({ example: 'web' }),
    dockerfile: programText(image.dockerfileBytes).min(1).openapi({ example: 'FROM golden-debian12\nRUN true\n' }),
    args: z
      .record(variableName, programText(LIMITS.command.maxVariableBytes))
      .refine(areVariablesPassable, VARIABLES_FIT)
      .refine(few(image.args), `must have at most ${image.args} variables`)
      .optional(),
    target: printable(128).optional().openapi({ description: 'A stage, by name or place; the last unless said' }),
    aliases: z
      .record(printable(256), printable(LIMITS.sourceName.maxLength))
      .refine(few(image.aliases), `must have at most ${image.aliases} names`)
      .optional()
      .openapi({
        description: 'Which source is meant by a name behind FROM',
        example: { 'debian:12': 'golden-debian12' },
      }),
    context: z
      .base64()
      .max(Math.ceil(image.contextBytes / 3) * 4)
      .optional()
      .openapi({
        description: `What COPY takes from, a tar archive in base64, of ${image.contextBytes} bytes at most, with its .dockerignore`,
        example: undefined,
      }),
    contextDigest: sha256.optional().openapi({
      description: 'In place of `context`: one that was sent with PUT /v1/image-contexts/{digest}, by its SHA-256',
      example: undefined,
    }),
    secrets: z
      .record(z.string().regex(/^[A-Za-z0-9._-]{1,128}$/, 'must be 1 to 128 of A-Z a-z 0-9 . _ -'), z.base64())
      .refine(few(image.secrets), `must have at most ${image.secrets} secrets`)
      .refine(
        (all) =>
          Object.values(all).reduce((sum, { length }) => sum + length, 0) <= Math.ceil(image.secretBytes / 3) * 4,
        `must have at most ${image.secretBytes} bytes in all`,
      )
      .optional()
      .openapi({
        description: 'What RUN --mount=type=secret mounts, by id, in base64; kept, sealed, until the build is over',
        example: undefined,
      }),
    ready: programText(image.readyBytes).min(1).optional().openapi({
      description:
        'What /bin/sh runs, as root and with ENV, in a fresh machine that reaches nobody, until it exits with 0: before that no source is made, and no template is saved. Else the build fails',
      example: 'systemctl is-active mayfly-image',
    }),
    readySeconds: z
      .int()
      .min(image.readySeconds.min)
      .max(image.readySeconds.max)
      .optional()
      .openapi({
        description: `How long \`ready\` is asked again, ${image.readySeconds.default} unless said`,
        example: undefined,
      }),
    network: z
      .strictObject({ egress })
      .optional()
      .openapi({ description: 'What its steps can reach; nothing, unless said' }),
  })
  .refine(({ ready, readySeconds }) => ready !== undefined || readySeconds === undefined, {
    path: ['readySeconds'],
    message: 'is how long `ready` is asked again',
  })
  .refine(({ context, contextDigest }) => context === undefined || contextDigest === undefined, {
    path: ['contextDigest'],
    message: 'is in place of `context`: one of them',
  })
  .openapi('BuildImage');

const command = z
  .object({ sandboxId: z.string(), id: z.string() })
  .openapi({ description: 'What runs, or will run, for it' });

export const imageAnswer = imageRecord
  .omit({ request: true, content: true, contents: true, stages: true, checkerId: true, begin: true })
  .extend({
    steps: z.array(
      z.object({
        line: z.int().nullable(),
        text: z.string(),
        command: command.nullable().openapi({ description: 'Null: it had been done before' }),
      }),
    ),
    ready: z
      .object({ text: z.string(), command })
      .nullable()
      .openapi({ description: 'What is asked of a fresh machine of it, when all steps are done; null: nothing' }),
    settings: z.object({
      env: z.record(z.string(), z.string()),
      workdir: z.string(),
      user: z.string(),
      labels: z.record(z.string(), z.string()),
      exposed: z.array(z.string()),
      cmd: z.array(z.string()).nullable(),
      entrypoint: z.array(z.string()).nullable(),
    }),
    unusedArgs: z.array(z.string()).openapi({ description: 'Variables that no ARG asks for' }),
    ignored: z
      .array(z.object({ line: z.int(), text: z.string() }))
      .openapi({ description: 'What the Dockerfile says and no build does, with what holds in its place' }),
  })
  .openapi('Image');
