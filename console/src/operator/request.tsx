/** One call with its attempts. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { LoggedRequest } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { CaptureCard } from '../parts/capture.tsx';
import { Explain } from '../parts/explain.tsx';
import { Load, Page } from '../parts/page.tsx';
import { WRITTEN_SOON } from '../parts/recent-call.ts';
import { RequestView } from '../parts/request-view.tsx';
import { HttpStatus } from '../parts/state.tsx';
import { Id } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages } from '../texts.ts';

export const RequestPage = () => {
  const { request: id = '' } = useParams({ strict: false });
  const query = useQuery({ queryKey: ['request', id], queryFn: () => admin.request(id), ...WRITTEN_SOON });
  return (
    <Page
      title={<Id id={id} isWhole />}
      name={id}
      parent={{ title: pages.requests.title, path: paths.requests }}
      actions={query.data && <ExplainRequest request={query.data} />}
      beside={query.data && <HttpStatus status={query.data.status} code={query.data.code} />}
    >
      <Load query={query} things={pages.request.things}>
        {(request) => (
          <div className="stack">
            <CaptureCard request={request} load={admin.capture} />
            <RequestView request={request} reader="operator" />
          </div>
        )}
      </Load>
    </Page>
  );
};

const EXPLAINED: ReadonlySet<string> = new Set([
  'messages.create',
  'chat.create',
  'responses.create',
  'generate.create',
  'generate.stream',
]);

/** How the same key would be served now. The body of the call is not kept, so that a minimal one stands for it. */
const ExplainRequest = ({ request: { key, model, dialect, operation } }: { readonly request: LoggedRequest }) =>
  key !== null && model !== null && dialect !== null && EXPLAINED.has(operation) ? (
    <Explain call={{ key, model, dialect }} />
  ) : null;
