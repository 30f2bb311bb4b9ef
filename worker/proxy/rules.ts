import type proto from '@temporalio/proto';

type V1 = typeof proto.temporal.api.workflowservice.v1;
/** The fields of the request of a method. */
type RequestOf<Name extends string> = `${Name}Request` extends keyof V1
  ? V1[`${Name}Request`] extends { prototype: infer Message }
    ? Partial<Message>
    : never
  : never;

/** Why a request is refused; null: it is passed on. */
export type Answer = string | null | Promise<string | null>;

/** By method, what decides on its requests. A method that is not here is refused. */
export type Rules = { readonly [Name in Ruled | 'ListSearchAttributes']?: (request: RequestOf<Name>) => Answer };

type Ruled = keyof V1 extends infer Type ? (Type extends `${infer Name}Request` ? Name : never) : never;

/** temporal.api.enums.v1.HistoryEventFilterType: how a run has ended, and nothing of what it did. */
const CLOSE_EVENT = 2;

const always = () => null;

/** What tells no more than that something is there, and how a run has ended. */
export const LOOKING: Rules = {
  GetSystemInfo: always,
  DescribeNamespace: always,
  DescribeTaskQueue: always,
  DescribeWorkflowExecution: always,
  ListSearchAttributes: always,
};

/** @param ofWorkflow why the end of that workflow is not for it to hear */
export function endOf(
  { historyEventFilterType, execution }: RequestOf<'GetWorkflowExecutionHistory'>,
  ofWorkflow: (workflowId: string) => Answer,
): Answer {
  if (historyEventFilterType !== CLOSE_EVENT) return 'a history is not for it to read';
  return ofWorkflow(execution?.workflowId ?? '');
}
