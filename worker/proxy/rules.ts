import type proto from '@temporalio/proto';

type V1 = typeof proto.temporal.api.workflowservice.v1;
type RequestOf<Name extends string> = `${Name}Request` extends keyof V1
  ? V1[`${Name}Request`] extends { prototype: infer Message }
    ? Partial<Message>
    : never
  : never;

/** Reason to refuse a request; null: it is forwarded. */
export type Verdict = string | null | Promise<string | null>;

/** Rules by method. A method without a rule is refused. */
export type Rules = { readonly [Name in Ruled | 'ListSearchAttributes']?: (request: RequestOf<Name>) => Verdict };

type Ruled = keyof V1 extends infer Type ? (Type extends `${infer Name}Request` ? Name : never) : never;

/** temporal.api.enums.v1.HistoryEventFilterType: a run's close event, without its history. */
const CLOSE_EVENT = 2;

const always = () => null;

/** Read-only methods that reveal only existence and outcome of a run. */
export const READ_ONLY_RULES: Rules = {
  GetSystemInfo: always,
  DescribeNamespace: always,
  DescribeTaskQueue: always,
  DescribeWorkflowExecution: always,
  ListSearchAttributes: always,
};

/** @param ofWorkflow reason to refuse the outcome of that workflow */
export function checkOutcomeRead(
  { historyEventFilterType, execution }: RequestOf<'GetWorkflowExecutionHistory'>,
  ofWorkflow: (workflowId: string) => Verdict,
): Verdict {
  if (historyEventFilterType !== CLOSE_EVENT) return 'a history is not for it to read';
  return ofWorkflow(execution?.workflowId ?? '');
}
