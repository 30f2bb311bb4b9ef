import type { z } from '@hono/zod-openapi';
import { isMayflyError } from '../../model/errors.ts';
import { resolvePointerText } from '../../model/events/json-pointer.ts';
import { deployFunction } from '../../model/functions/deploy-request.ts';
import type { FunctionRecord, FunctionVersion } from '../../model/functions/function.ts';
import { LIMITS } from '../../model/limits.ts';
import { DEFAULT_WAIT } from '../../model/waitpoints/waiting.ts';
import { activateVersion, deployFunction as deploy } from '../../services/functions/deploy-function.ts';
import {
  awaitSetup,
  describeSetup,
  removeFunction,
  setFunctionState,
  warningsOf,
} from '../../services/functions/function-setup.ts';
import { refuseInexact } from '../../services/schema/input-schemas.ts';
import { requireFunction, requireVersion } from '../../services/service-deps.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { actorOf, type RequestDeps, waitAsPreferred } from '../http/context.ts';
import { type Route, reply, routeOf } from '../http/route.ts';
import { answerList, json, listOf, preferHeaders } from '../http/schemas.ts';
import { deleteQuery, functionAnswer, functionParams, versionAnswer, versionParams } from './function-schemas.ts';

const route = routeOf('functions');

const ALL = '/v1/functions';
const ONE = '/v1/functions/{name}';
const PLACED = [
  'no_host',
  'source_not_found',
  'source_differs',
  'snapshot_not_found',
  'snapshot_not_ready',
  'capture_not_found',
  'capture_not_ready',
  'exceeds_hosts',
  'source_running',
  'policy_denied',
] as const;

const STATE_CHANGE = {
  in: { params: functionParams },
  out: { 200: json('It is so', functionAnswer) },
  problems: ['function_not_found', 'function_draining'],
} as const;

export const functionRoutes: Route[] = [
  route('putFunction', 'put', ONE, {
    scope: 'sandboxes:write',
    summary: 'Deploy a version of a function: events are accepted for it from now on',
    description:
      'The same content again is the version that is there. docs/functions.md says what a process is given. With `Prefer: wait=60` it is answered when its setup is ready or has failed.',
    limit: LIMITS.functions.deployBytes,
    in: { params: functionParams, headers: preferHeaders, body: deployFunction },
    out: {
      200: json('That content was deployed before: it is the active version', versionAnswer),
      201: json('It is a new version', versionAnswer),
    },
    problems: [
      PLACED,
      'retry_needs_idempotent',
      'functions_full',
      'secret_not_found',
      'function_draining',
      'invalid_schema',
      'schema_too_slow',
    ],
    handle: async ({ c, deps, params: { name }, body }) => {
      refuseInexact(resolvePointerText(await c.req.text(), '/input/schema'));
      const { function: record, version, isNew } = await deploy(deps, deps.acceptance.schemas, actorOf(c), name, body);
      const warnings = await warningsOf(deps, version.spec.secrets);
      if (version.spec.setup && c.req.header('prefer') !== undefined)
        await waitAsPreferred(c, (signal) => awaitSetup(deps, version.spec, signal));
      return reply(isNew ? 201 : 200, { ...(await versionView(deps, version, record)), warnings });
    },
  }),
  route('listFunctions', 'get', ALL, {
    scope: 'sandboxes:read',
    summary: 'List the functions of the project, by name',
    out: { 200: json('All of them', listOf(functionAnswer)) },
    handle: async ({ store }) => ({ items: await store.functions.list() }),
  }),
  route('getFunction', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read a function',
    in: { params: functionParams },
    out: { 200: json('The function', functionAnswer) },
    problems: ['function_not_found'],
    handle: async ({ deps, params }) => await requireFunction(deps, params.name),
  }),
  route('listFunctionVersions', 'get', `${ONE}/versions`, {
    scope: 'sandboxes:read',
    summary: 'List the versions of a function, newest first',
    in: { params: functionParams },
    out: { 200: json('All that are kept', listOf(versionAnswer)) },
    problems: ['function_not_found'],
    handle: async ({ deps, store, params: { name } }) => {
      const record = await requireFunction(deps, name);
      const unreadable: Unreadable[] = [];
      const versions = await store.functionVersions.list(name, unreadable);
      const view = async (version: FunctionVersion) => {
        try {
          return [await versionView(deps, version, record)];
        } catch (error) {
          if (!isMayflyError(error, 'record_damaged')) throw error;
          unreadable.push({ id: `${name}/${version.version}`, problem: error.message }); // of its setup
          return [];
        }
      };
      return answerList((await Promise.all(versions.map(view))).flat(), unreadable);
    },
  }),
  route('activateFunctionVersion', 'post', `${ONE}/versions/{version}/activate`, {
    scope: 'sandboxes:write',
    summary: 'Have events accepted for a version that was deployed before',
    description: 'Runs that wait keep the version that they were accepted for.',
    in: { params: versionParams },
    out: { 200: json('It is the active version', versionAnswer) },
    problems: ['function_not_found', 'function_version_not_found', 'function_draining'],
    handle: async ({ c, deps, params: { name, version } }) => {
      await requireFunction(deps, name);
      const found = await requireVersion(deps, name, version);
      return versionView(deps, found, await activateVersion(deps, actorOf(c), name, version));
    },
  }),
  route('pauseFunction', 'post', `${ONE}/pause`, {
    scope: 'sandboxes:write',
    summary: 'Have no run of a function started; its events are accepted all the same',
    ...STATE_CHANGE,
    handle: async ({ deps, params: { name } }) => await setFunctionState(deps, name, 'active', 'paused'),
  }),
  route('resumeFunction', 'post', `${ONE}/resume`, {
    scope: 'sandboxes:write',
    summary: 'Have the runs of a function started again',
    ...STATE_CHANGE,
    handle: async ({ deps, params: { name } }) => {
      const record = await setFunctionState(deps, name, 'paused', 'active');
      await deps.sagas.functions.wakeDispatcher({ project: record.project, name }).catch((error: unknown) => {
        deps.logger.info({ err: error, name }, 'what waits is looked at by the next poll');
      });
      return record;
    },
  }),
  route('deleteFunction', 'delete', ONE, {
    scope: 'sandboxes:write',
    summary: 'Delete a function and its versions',
    in: { params: functionParams, query: deleteQuery },
    out: {
      202: json('It goes when its runs have ended', functionAnswer),
      204: { description: 'It is gone. Its runs that have ended can be read still' },
    },
    problems: ['function_not_found', 'function_in_use'],
    handle: async ({ deps, params: { name }, query }) =>
      (await removeFunction(deps, name, query.drain === 'true')) ?? undefined,
  }),
];

/** Default retention; a spec, and so its digest, omits it. */
const NOTHING_KEPT = { onFailure: 'none', days: LIMITS.functions.keepDays.default } as const;

async function versionView(
  deps: Pick<RequestDeps, 'store'>,
  version: FunctionVersion,
  { activeVersion }: Pick<FunctionRecord, 'activeVersion'>,
): Promise<z.infer<typeof versionAnswer>> {
  const { spec } = version;
  const { keep = NOTHING_KEPT, wait = DEFAULT_WAIT } = spec;
  const setup = await describeSetup(deps, spec);
  return {
    ...version,
    isActive: version.version === activeVersion,
    spec: { ...spec, keep, diff: spec.diff === true, wait, envNames: Object.keys(spec.env) },
    ...(setup && { setup }),
  };
}
