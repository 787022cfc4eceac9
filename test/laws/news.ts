/** What the types of SDKs have that the tables do not know, by endpoint, with what happens to it. `npm run release -- news` prints it. */
import { StepBudget } from '../../src/core/index.ts';
import { findingsFor, scanRequest } from '../../src/gateway/request-scan.ts';
import { DIALECTS, type Dialect, type InferenceOperation, inferenceRow } from '../../src/rules/index.ts';
import { sdkSchemas } from '../support/sdk-schemas.ts';
import { DIALECT_PAIRS } from './dialect-pairs.ts';
import { type Exception, exceptionFor, IN_REPLIES, INTENDED, UNTESTED } from './field-exceptions.ts';
import { type FieldOutcome, observeFields, observeReplies } from './field-outcomes.ts';
import { requestFields } from './request-fields.ts';

/** One thing that no table knows. */
export interface NewsItem {
  readonly where: string;
  readonly what: string;
  readonly today: string;
}

export const CREATING = {
  chat: 'chat.create',
  messages: 'messages.create',
  responses: 'responses.create',
  generate: 'generate.create',
} as const satisfies Record<Dialect, InferenceOperation>;

/** Members of the types that are meant to be dear, because nothing here bounds what they can cost. */
export const DEAR: Readonly<Record<Dialect, RegExp>> = {
  chat: /^$/,
  messages: /^fallbacks\.speed/,
  responses: /^reasoning\.mode|prompt_cache_options\.prewarm/,
  generate:
    /mediaResolution\.numTokens|modelSelectionConfig|routingConfig\.autoMode|responseFormat\.video|automaticContinuation|continuationToken|generationOutputConfig|modelArmorConfig/,
};

/** `requestFields` adds it to every object of the type `mcp`. */
const isAdded = (found: string): boolean => found === 'tool_choice.require_approval';

export function unknownIn(dialect: Dialect, body: unknown): string | undefined {
  const operation = CREATING[dialect];
  const findings = findingsFor(operation, dialect, new StepBudget());
  scanRequest(Buffer.from(JSON.stringify(body)), new Set(), { operation, findings, steps: findings.steps });
  return findings.unknown;
}

/** Members of requests that no table of `src/rules/members` has, as `path: what was found`. */
export const unknownMembers = (dialect: Dialect): readonly string[] =>
  requestFields(dialect).flatMap(({ label, path, body }) => {
    const found = unknownIn(dialect, body);
    return found === undefined || DEAR[dialect].test(path) || isAdded(found) ? [] : [`${label}: ${found}`];
  });

const endpointOf = (dialect: Dialect): string => `POST ${inferenceRow(CREATING[dialect]).path}`;
const BOUNDED = 'native: reserves the most that its model can cost; converted: dropped and named';

/** `known`: the types of events that the committed schemas have. */
export function newsOfTypes(known: (dialect: Dialect) => ReadonlySet<string>): readonly NewsItem[] {
  const offered = DIALECT_PAIRS.filter(({ isOffered, client }) => isOffered && client !== 'generate');
  return [
    ...DIALECTS.flatMap((dialect) =>
      unknownMembers(dialect).map((what) => ({ where: endpointOf(dialect), what, today: BOUNDED })),
    ),
    ...DIALECTS.flatMap((dialect) =>
      [...eventTypes(sdkSchemas(dialect))]
        .filter((type) => !known(dialect).has(type))
        .map((type) => ({
          where: endpointOf(dialect),
          what: `type ${type}`,
          today: 'native: passes; converted: ignored',
        })),
    ),
    ...offered.flatMap((pair) => [
      ...unexplained(pair.name, observeFields(pair), INTENDED, 'request, lost without a name'),
      ...unexplained(pair.name, observeReplies(pair), IN_REPLIES, 'reply, lost without a name'),
    ]),
  ];
}

const unexplained = (
  pair: string,
  outcomes: readonly FieldOutcome[],
  lost: readonly Exception[],
  today: string,
): NewsItem[] =>
  outcomes
    .filter(({ outcome }) => outcome === 'lost' || outcome === 'invalid')
    .filter(({ field, outcome }) => !exceptionFor(outcome === 'invalid' ? UNTESTED : lost, field.label, pair))
    .map(({ field, outcome }) => ({
      where: pair,
      what: field.label,
      today: outcome === 'lost' ? today : 'not testable',
    }));

/** Constant types of events, blocks and items. */
export function eventTypes(schemas: unknown): ReadonlySet<string> {
  const found = JSON.stringify(schemas).matchAll(/"type":\{"type":"string","const":"([^"]+)"/g);
  return new Set([...found].map(([, type = '']) => type));
}
