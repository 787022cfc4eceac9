/** Calls of the signed-in user, without accounts, costs and margins. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { mine } from '../api/user.ts';
import { CaptureCard } from '../parts/capture.tsx';
import { ownKeys } from '../parts/finders.ts';
import { FilteredList } from '../parts/list.tsx';
import { Load, Page } from '../parts/page.tsx';
import { WRITTEN_SOON } from '../parts/recent-call.ts';
import { REQUEST_VIEWS, requestColumns, requestFilters } from '../parts/request-columns.tsx';
import { RequestView } from '../parts/request-view.tsx';
import { HttpStatus } from '../parts/state.tsx';
import { Id } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages } from '../texts.ts';

const COLUMNS = requestColumns('user');

export const MyRequests = () => (
  <Page title={pages.requests.title}>
    <FilteredList
      page={pages.requests}
      name="my-requests"
      load={mine.requests}
      isLive
      filters={[...requestFilters(undefined), { name: 'key', label: 'Key', finder: ownKeys, isMore: true }]}
      views={REQUEST_VIEWS.filter(([, search]) => !search.includes('401'))}
      columns={COLUMNS}
      rowKey={({ id }) => id}
      open={({ id }) => paths.myRequest(id)}
    />
  </Page>
);

export const MyRequestPage = () => {
  const { request: id = '' } = useParams({ strict: false });
  const query = useQuery({ queryKey: ['my-request', id], queryFn: () => mine.request(id), ...WRITTEN_SOON });
  return (
    <Page
      title={<Id id={id} isWhole />}
      name={id}
      parent={{ title: pages.requests.title, path: paths.myRequests }}
      beside={query.data && <HttpStatus status={query.data.status} code={query.data.code} />}
    >
      <Load query={query} things={pages.request.things}>
        {(request) => (
          <div className="stack">
            <CaptureCard request={request} load={mine.capture} />
            <RequestView request={request} reader="user" />
          </div>
        )}
      </Load>
    </Page>
  );
};
