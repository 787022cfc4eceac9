import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from './metrics.ts';
import { MetricsBook } from './metrics-book.ts';

const page = (requests: number, open: number, oldest: number): string => `# HELP dragoman_x_total Requests
# TYPE dragoman_x_total counter
dragoman_x_total{code="a b"} ${requests}
# HELP dragoman_open_requests Requests in progress
# TYPE dragoman_open_requests gauge
dragoman_open_requests ${open}
# HELP dragoman_journal_oldest_seconds Age
# TYPE dragoman_journal_oldest_seconds gauge
dragoman_journal_oldest_seconds ${oldest}
`;

test('a book adds up counters and gauges of all workers, and shows the worst of a gauge that cannot be added', () => {
  const book = new MetricsBook();
  book.update(1, page(5, 1, 3));
  book.update(2, page(7, 2, 1));
  assert.equal(book.text(), page(12, 3, 3));
});

test('a book keeps the totals of a worker that has ended, and forgets its gauges', () => {
  const book = new MetricsBook();
  book.update(1, page(5, 1, 3));
  book.update(2, page(7, 2, 1));
  book.end(1);
  assert.equal(book.text(), page(12, 2, 1));
  book.update(3, page(1, 1, 0));
  assert.equal(book.text(), page(13, 3, 1));
  book.end(9);
  assert.equal(book.text(), page(13, 3, 1));
});

test('a book merges the page of a process without a change', async () => {
  const metrics = createMetrics();
  metrics.recordRequest({ operation: 'messages.create', status: 200, ms: 3, outcome: 'completed' });
  metrics.register('dragoman_options_removed_total', () => [{ value: 2, labels: { name: 'a "b" \\ c' } }]);
  const text = await metrics.text();
  const book = new MetricsBook();
  book.update(1, text);
  assert.equal(book.text(), text);
});
