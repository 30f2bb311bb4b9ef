import { MayflyError } from '../../model/errors.ts';
import { readAttributes } from '../../model/events/attributes.ts';
import { wrapInEvent } from '../../model/events/binary-mode.ts';
import type { ReceivedEvent } from '../../model/events/cloud-event.ts';
import { readJson, utf8Text } from '../../model/events/json/json-text.ts';
import { resolvePointer } from '../../model/events/json-pointer.ts';
import { isJson, isUtf8, parseMediaType } from '../../model/events/media-type.ts';
import { isUriReference } from '../../model/events/uri.ts';

/** JSON pointers of an event's subject by event name ("GitHub CloudEvents Adapter" of CloudEvents). */
const SUBJECTS: Readonly<Record<string, string>> = {
  check_run: '/check_run/id',
  check_suite: '/check_suite/id',
  commit_comment: '/comment/id',
  create: '/ref',
  delete: '/ref',
  deploy_key: '/key/id',
  deployment: '/deployment/id',
  deployment_status: '/deployment_status/url',
  fork: '/forkee/url',
  installation: '/installation/id',
  issue_comment: '/comment/id',
  issues: '/issue/number',
  label: '/label/name',
  member: '/member/login',
  milestone: '/milestone/number',
  project: '/project/id',
  pull_request: '/number',
  pull_request_review: '/review/id',
  pull_request_review_comment: '/comment/id',
  push: '/ref',
  release: '/release/id',
  repository: '/repository/name',
  security_advisory: '/security_advisory/ghsa_id',
  status: '/sha',
  team: '/team/id',
  team_add: '/team/id',
};
/** Limit of an attribute, characters. */
const MOST_CHARACTERS = 1_024;
/** The sender of a `repository_dispatch` chooses its action. */
const ACTION = /^[\x21-\x7e]{1,100}$/;

interface GithubDelivery {
  /** X-GitHub-Event. */
  name: string;
  /** X-GitHub-Delivery. */
  id: string;
  contentType: string | undefined;
  body: Uint8Array;
}

/**
 * Returns the CloudEvent of a GitHub webhook, JSON or `payload=` of a form.
 * @param ownUri source of an event that has no repository
 * @throws MayflyError invalid_json, unsupported_media_type, invalid_event
 */
export function githubEvent({ name, id, contentType, body }: GithubDelivery, ownUri: string): ReceivedEvent {
  const payload = payloadOf(contentType, body);
  const { value } = readJson(payload);
  const url = resolvePointer(value, '/repository/url');
  const action = resolvePointer(value, '/action');
  const hasAction = typeof action === 'string' && ACTION.test(action);
  const subject = subjectOf(name, value);
  const attributes = readAttributes([
    ['specversion', '1.0'],
    ['id', id],
    ['source', isSource(url) ? url : ownUri],
    ['type', `com.github.${name}${hasAction ? `.${action}` : ''}`],
    ['time', new Date().toISOString()],
    ['datacontenttype', 'application/json'],
    ...(subject === null ? [] : [['subject', subject] as const]),
  ]);
  return wrapInEvent(attributes, payload);
}

/** Returns the JSON as written. */
function payloadOf(contentType: string | undefined, body: Uint8Array): Uint8Array {
  const mediaType = contentType === undefined ? undefined : parseMediaType(contentType);
  if (mediaType && isJson(mediaType) && isUtf8(mediaType)) return body;
  if (mediaType?.type !== 'application' || mediaType.subtype !== 'x-www-form-urlencoded') {
    throw new MayflyError('unsupported_media_type', 'GitHub sends application/json, or a form.');
  }
  const payload = new URLSearchParams(utf8Text(body) ?? '').get('payload');
  if (payload === null) throw new MayflyError('invalid_json', 'The form has no `payload`.');
  return new TextEncoder().encode(payload);
}

function isSource(url: unknown): url is string {
  return typeof url === 'string' && url !== '' && url.length <= MOST_CHARACTERS && isUriReference(url);
}

function subjectOf(name: string, data: unknown): string | null {
  const pointer = Object.hasOwn(SUBJECTS, name) ? SUBJECTS[name] : undefined;
  const value = pointer === undefined ? undefined : resolvePointer(data, pointer);
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const text = String(value);
  return text === '' || text.length > MOST_CHARACTERS || /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u.test(text)
    ? null
    : text;
}
