/** The property: we read a message as the judge does, or reject it, whatever parts it arrives in, and at a linear cost. */
import { isDeepStrictEqual } from 'node:util';
import { countBufferBytes } from '../support/buffer-work.ts';
import { isAbsoluteForm, isInformational, type KnownDifference, stopOf } from './differences.ts';
import type { Judge, JudgedRequests, JudgedResponse } from './judge.ts';
import type { RequestHead, RequestReading, ResponseReading, Side } from './message.ts';
import { splitAt } from './message.ts';
import { readRequests, readResponse } from './subject.ts';

export interface Verdict {
  readonly isAccepted: boolean;
  /** What is wrong; undefined when the property holds. */
  readonly failure: string | undefined;
  /** The known differences that occurred. */
  readonly differences: readonly KnownDifference[];
}

/** How a message is cut, and whether its cost is counted too. */
export interface Delivery {
  readonly text: string;
  readonly cuts: readonly number[];
  readonly isMeasured: boolean;
}

/** Reads that handle more bytes than this many times the message are not linear. */
const WORK_PER_BYTE = 12;
const WORK_PER_MESSAGE = 4_096;

export async function checkAll(side: Side, deliveries: readonly Delivery[], judge: Judge): Promise<Verdict[]> {
  return side === 'requests'
    ? deliveries.map((delivery) => caught(() => checkRequests(delivery, judge)))
    : checkResponses(deliveries, judge);
}

/** An exception is a failure of the message, not of the run. */
function caught(check: () => Verdict): Verdict {
  try {
    return check();
  } catch (error) {
    return failed(`it throws ${error instanceof Error ? error.stack : String(error)}`);
  }
}

const failed = (failure: string): Verdict => ({ isAccepted: false, failure, differences: [] });

// ---------------------------------------------------------------- requests

function checkRequests({ text, cuts, isMeasured }: Delivery, judge: Judge): Verdict {
  const whole = readRequests([text]);
  const inParts = readRequests(splitAt(text, cuts));
  const judged = judge.readRequests(text);
  const differences: KnownDifference[] = [];
  const failure =
    splitFailure(whole, inParts) ??
    requestFailure(inParts, judged, differences) ??
    requestFailure(whole, judged, differences) ??
    (isMeasured ? dripFailure(text, whole) : undefined);
  return { isAccepted: !whole.isRejected, failure, differences: [...new Set(differences)] };
}

/** A head may be read before its body is rejected, so only complete requests must be the same. */
function splitFailure(whole: RequestReading, inParts: RequestReading): string | undefined {
  const isSame =
    whole.isRejected === inParts.isRejected &&
    isDeepStrictEqual(whole.bodies, inParts.bodies) &&
    isDeepStrictEqual(whole.heads.slice(0, whole.bodies.length), inParts.heads.slice(0, whole.bodies.length));
  return isSame ? undefined : `the parts in which it arrives change its reading: ${show(whole)} or ${show(inParts)}`;
}

function requestFailure(
  ours: RequestReading,
  judged: JudgedRequests,
  differences: KnownDifference[],
): string | undefined {
  const differ = (what: string): string => `${what}: ours ${show(ours)}, the judge's ${show(judged)}`;
  const stop = ours.heads.length > judged.heads.length ? stopOf(judged) : undefined;
  if (stop !== undefined) differences.push(stop);
  for (const [n, head] of ours.heads.entries()) {
    const other = judged.heads[n];
    if (!other && stop !== undefined) break;
    if (!other) return differ('the judge rejects what we accept');
    if (!isSameHead(head, other, differences)) return differ('two readings of a head');
  }
  const bodies = stop === undefined ? ours.bodies : ours.bodies.slice(0, judged.bodies.length);
  for (const [n, body] of bodies.entries()) if (judged.bodies[n] !== body) return differ('two readings of a body');
  if (ours.isRejected || ours.isClosed || stop !== undefined) return undefined;
  if (judged.fault !== undefined) return differ('the judge rejects what we accept');
  return judged.heads.length === ours.heads.length ? undefined : differ('two counts of requests');
}

function isSameHead(ours: RequestHead, judged: RequestHead, differences: KnownDifference[]): boolean {
  if (isDeepStrictEqual(ours, judged)) return true;
  if (!isAbsoluteForm(ours, judged)) return false;
  differences.push('absolute form');
  return isDeepStrictEqual({ ...ours, target: '' }, { ...judged, target: '' });
}

/** Byte by byte, with the bytes counted that Buffer methods handle. */
function dripFailure(text: string, whole: RequestReading): string | undefined {
  let dripped = whole;
  const work = countBufferBytes(() => {
    dripped = readRequests([...text]);
  });
  return splitFailure(whole, dripped) ?? workFailure(work, text.length);
}

const workFailure = (work: number, length: number): string | undefined =>
  work > WORK_PER_BYTE * length + WORK_PER_MESSAGE ? `${length} bytes cost the handling of ${work} bytes` : undefined;

// ---------------------------------------------------------------- responses

async function checkResponses(deliveries: readonly Delivery[], judge: Judge): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  const accepted: { n: number; ours: ResponseReading }[] = [];
  for (const [n, { text, cuts, isMeasured }] of deliveries.entries()) {
    verdicts[n] = caught(() => {
      const whole = readResponse([text]);
      const ours = { ...whole, end: endOf(text, whole) };
      if (whole.response) accepted.push({ n, ours });
      const failure =
        responseSplitFailure(whole, readResponse(splitAt(text, cuts))) ??
        (isMeasured ? responseDripFailure(text, ours) : undefined);
      return { isAccepted: whole.response !== undefined, failure, differences: [] };
    });
  }
  // The judge gets exactly the bytes that we took for the response.
  const judged = await judge.readResponses(
    accepted.map(({ n, ours }) => (deliveries[n] as Delivery).text.slice(0, ours.end)),
  );
  for (const [k, { n, ours }] of accepted.entries()) {
    const verdict = verdicts[n] as Verdict;
    const judgement = judged[k] as JudgedResponse;
    if (!judgement.response && isInformational((deliveries[n] as Delivery).text))
      verdicts[n] = { ...verdict, differences: ['informational response'] };
    else verdicts[n] = { ...verdict, failure: verdict.failure ?? responseFailure(ours, judgement) };
  }
  return verdicts;
}

/** The shortest beginning that is a complete response; all bytes when the end of the connection ends it. */
function endOf(text: string, { response }: ResponseReading): number {
  const isComplete = (end: number): boolean =>
    readResponse([text.slice(0, end)]).response !== undefined && readResponse([text.slice(0, end), 'x']).end === end;
  if (!response || !isComplete(text.length)) return text.length;
  let [incomplete, complete] = [0, text.length];
  while (complete - incomplete > 1) {
    const middle = (incomplete + complete) >> 1;
    if (isComplete(middle)) complete = middle;
    else incomplete = middle;
  }
  return complete;
}

const responseSplitFailure = (whole: ResponseReading, inParts: ResponseReading): string | undefined =>
  isDeepStrictEqual(whole.response, inParts.response)
    ? undefined
    : `the parts in which it arrives change its reading: ${show(whole)} or ${show(inParts)}`;

function responseDripFailure(text: string, ours: ResponseReading): string | undefined {
  let dripped = ours;
  const work = countBufferBytes(() => {
    dripped = readResponse([...text]);
  });
  if (ours.response && dripped.end !== ours.end) return `it ends at byte ${ours.end} or ${dripped.end}`;
  return responseSplitFailure(ours, dripped) ?? workFailure(work, text.length);
}

function responseFailure(ours: ResponseReading, { response, isEarly }: JudgedResponse): string | undefined {
  if (isDeepStrictEqual(ours.response, response))
    return isEarly ? `the judge ends it before byte ${ours.end}: ${show(ours)}` : undefined;
  const what = response ? 'two readings' : 'the judge rejects what we accept';
  return `${what}: ours ${show(ours)}, the judge's ${show(response)}`;
}

const MAX_SHOWN = 1_500;
const show = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, MAX_SHOWN);
