/** Files, batches, conversations and cached contents of the signed-in user. */
import { useQuery } from '@tanstack/react-query';
import { mine } from '../api/user.ts';
import { bytesText, countText } from '../format/count.ts';
import { FilteredList } from '../parts/list.tsx';
import { KIND_FILTER, objectColumns } from '../parts/object-columns.tsx';
import { Page } from '../parts/page.tsx';
import { pages, texts } from '../texts.ts';

const NAME = 'my-objects';
const COLUMNS = objectColumns({ reader: 'user', remove: ({ id }) => mine.deleteObject(id), queries: NAME });

export const MyObjects = () => {
  const { data } = useQuery({ queryKey: [NAME, 'room'], queryFn: () => mine.fileRoom() });
  return (
    <Page title={pages.objects.title} lead={data && roomText(data.room)}>
      <FilteredList
        page={pages.objects}
        name={NAME}
        load={mine.objects}
        filters={[KIND_FILTER]}
        columns={COLUMNS}
        rowKey={({ id }) => id}
      />
    </Page>
  );
};

type Room = Awaited<ReturnType<typeof mine.fileRoom>>['room'];

const roomText = ({ files, bytes, max_files, max_bytes }: Room): string =>
  texts.objects.room(countText(files), bytesText(bytes), countText(max_files), bytesText(max_bytes));
