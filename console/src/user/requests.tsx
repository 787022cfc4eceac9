/** Calls of the signed-in user, without accounts, costs and margins. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { mine } from '../api/user.ts';
import { FilteredList } from '../parts/list.tsx';
import { Load, Page } from '../parts/page.tsx';
import { WRITTEN_SOON } from '../parts/recent-call.ts';
import { requestColumns } from '../parts/request-columns.tsx';
import { RequestView } from '../parts/request-view.tsx';
import { HttpStatus } from '../parts/state.tsx';
import { Id } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages } from '../texts.ts';

export const MyRequests = () => (
  <Page title={pages.requests.title}>
    <FilteredList
      page={pages.requests}
      name="my-requests"
      load={mine.requests}
      isLive
      filters={[
        { name: 'request_id', label: 'Request id' },
        { name: 'key', label: 'Key id' },
        { name: 'model', label: 'Model' },
        { name: 'status', label: 'Status' },
        { name: 'start', label: 'From (UTC)', type: 'date' },
        { name: 'end', label: 'Before (UTC)', type: 'date' },
      ]}
      columns={requestColumns('user')}
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
        {(request) => <RequestView request={request} reader="user" />}
      </Load>
    </Page>
  );
};
