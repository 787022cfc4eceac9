/** The queries of document 1 in the reference; every parameter is optional. */
import type { INFERENCE_ENDPOINTS } from '../../src/rules/index.ts';
import { COUNT, described, INTEGER, oneOf, queryOf, type Schemas, TEXT } from './schema.ts';

const query = (members: Schemas): readonly object[] => queryOf({ properties: members });

export const INFERENCE_QUERIES: Readonly<Partial<Record<keyof typeof INFERENCE_ENDPOINTS, readonly object[]>>> = {
  'responses.get': query({
    stream: described(oneOf('true', 'false'), '`true`: the events of the response'),
    starting_after: described(INTEGER, 'with `stream`: only events after this `sequence_number`'),
  }),
  'responses.inputItems': query({
    limit: described(COUNT, 'items of a page'),
    after: described(TEXT, '`last_id` of the previous page'),
    order: described(oneOf('asc', 'desc'), '`desc` by default'),
  }),
  'models.list': query({
    limit: described(COUNT, 'models of a page; all by default'),
    after_id: described(TEXT, '`last_id` of the previous page'),
    before_id: described(TEXT, '`first_id` of the next page'),
  }),
  'files.list': query({
    limit: described(COUNT, 'files of a page'),
    after: described(TEXT, '`last_id` of the previous page'),
    order: oneOf('asc', 'desc'),
    purpose: TEXT,
    after_id: described(TEXT, 'of messages clients'),
    before_id: described(TEXT, 'of messages clients'),
    page: described(TEXT, '`next_page` of the previous page, of messages clients'),
  }),
  'conversations.items': query({
    limit: described(COUNT, 'items of a page'),
    after: described(TEXT, '`last_id` of the previous page'),
    order: described(oneOf('asc', 'desc'), '`desc` by default'),
  }),
  'interactions.get': query({
    stream: described(oneOf('true', 'false'), '`true`: the events of the interaction'),
    last_event_id: described(TEXT, 'with `stream`: only events after this one'),
    include_input: oneOf('true', 'false'),
  }),
  'containers.files': query({
    limit: described(COUNT, 'files of a page'),
    after: described(TEXT, '`last_id` of the previous page'),
    order: described(oneOf('asc', 'desc'), '`desc` by default'),
  }),
  'containers.list': query({
    limit: described(COUNT, 'containers of a page'),
    after: described(TEXT, '`last_id` of the previous page'),
  }),
  'batches.list': query({
    limit: described(COUNT, 'batches of a page'),
    after: described(TEXT, '`last_id` of the previous page'),
  }),
  'messageBatches.list': query({
    limit: described(COUNT, 'batches of a page'),
    after_id: described(TEXT, '`last_id` of the previous page'),
    before_id: described(TEXT, '`first_id` of the next page'),
  }),
  'googleFiles.list': query({
    pageSize: described(COUNT, 'files of a page'),
    pageToken: described(TEXT, '`nextPageToken` of the previous page'),
  }),
  'googleFiles.content': query({
    alt: described(oneOf('media'), 'accepted as SDKs send it'),
  }),
  'usage.get': query({
    start_date: described(TEXT, 'first day, such as 2030-01-31; by default 30 days up to `end_date`'),
    end_date: described(TEXT, 'last day; by default today'),
    timezone: described(TEXT, 'IANA name, such as Europe/Berlin; UTC by default'),
  }),
  'billing.usage': query({
    start_date: described(TEXT, 'first UTC day; by default that of the month, or 30 days up to `end_date`'),
    end_date: described(TEXT, 'last UTC day; by default today'),
  }),
  'generate.models': query({
    pageSize: described(COUNT, 'models of a page'),
    pageToken: described(TEXT, '`nextPageToken` of the previous page'),
  }),
  'caches.list': query({
    pageSize: described(COUNT, 'of a page'),
    pageToken: described(TEXT, '`nextPageToken` of the previous page'),
  }),
  'generate.stream': query({
    alt: described(oneOf('json', 'sse'), '`sse`: server-sent events'),
  }),
};
