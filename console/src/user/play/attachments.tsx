/** Files that go with a request, inline: pictures, PDF and texts, bounded in number and size. */
import { useId, useRef, useState } from 'react';
import { t } from '../../language.ts';
import { type Attachment, dataUrl, isPicture } from './conversation.ts';
import { playTexts } from './texts.ts';

const MIB = 2 ** 20;
/** Base64 adds a third, and the gateway takes 32 MiB. */
const MAX_BYTES = 16 * MIB;
const MAX_FILES = 16;
const MAX_SIZE = `${MAX_BYTES / MIB} MiB`;

export const PICTURES = 'image/png,image/jpeg,image/webp,image/gif';
export const FILES = `${PICTURES},application/pdf,text/*,.md,.csv,.json,.yaml,.yml,.xml`;

/** Code and data have many types, and most browsers know none for them. */
const TEXT_NAME = /\.(?:md|csv|json|ya?ml|xml|[jt]sx?|py|go|rs|java|c|h|cpp|sh|sql|toml|log)$/i;

function typeOf({ type, name }: File): string | undefined {
  if (PICTURES.split(',').includes(type) || type === 'application/pdf') return type;
  return type.startsWith('text/') || TEXT_NAME.test(name) ? 'text/plain' : undefined;
}

const read = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(',')[1] ?? '');
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });

/** The files that may be added to those that are there, and what is said about the others. */
function admitted(there: readonly Attachment[], chosen: readonly File[], max: number) {
  const faults: string[] = [];
  let bytes = there.reduce((sum, file) => sum + file.bytes, 0);
  const files = chosen.filter((file, n) => {
    const fault =
      typeOf(file) === undefined
        ? playTexts.badFile(file.name)
        : bytes + file.size > MAX_BYTES
          ? playTexts.tooLarge(file.name, MAX_SIZE)
          : there.length + n >= max
            ? playTexts.tooMany(max)
            : undefined;
    if (fault) faults.push(fault);
    else bytes += file.size;
    return fault === undefined;
  });
  return { files, faults };
}

interface AttachmentsProps {
  readonly label: string;
  readonly hint?: string;
  readonly accept: string;
  readonly max?: number;
  readonly files: readonly Attachment[];
  readonly onChange: (files: readonly Attachment[]) => void;
}

export const Attachments = (props: AttachmentsProps) => {
  const { label, accept, max = MAX_FILES, files, onChange, hint = playTexts.attachHint(MAX_SIZE) } = props;
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [faults, setFaults] = useState<readonly string[]>([]);
  const add = async (chosen: readonly File[]): Promise<void> => {
    const checked = admitted(files, chosen, max);
    setFaults(checked.faults);
    const added = await Promise.all(
      checked.files.map(async (file) => ({
        name: file.name,
        mediaType: typeOf(file) ?? '',
        data: await read(file),
        bytes: file.size,
      })),
    );
    onChange([...files, ...added]);
    if (input.current) input.current.value = '';
  };
  return (
    <div className="field attach">
      <label className="label" htmlFor={id}>
        {t(label)}
      </label>
      <input
        id={id}
        ref={input}
        type="file"
        accept={accept}
        multiple={max > 1}
        onChange={(event) => void add([...(event.target.files ?? [])])}
      />
      <span className="small muted">{hint}</span>
      {faults.map((fault) => (
        <span key={fault} className="small error" role="alert">
          {fault}
        </span>
      ))}
      {files.length > 0 && <FileChips files={files} remove={(at) => onChange(files.filter((_file, n) => n !== at))} />}
    </div>
  );
};

interface FileChipsProps {
  readonly files: readonly Attachment[];
  readonly remove?: (at: number) => void;
}

export const FileChips = ({ files, remove }: FileChipsProps) => (
  <ul className="chips">
    {files.map((file, n) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: two files may have the same name and content
      <li key={n}>
        {isPicture(file) ? <img className="thumb" src={dataUrl(file)} alt={file.name} /> : <span>{file.name}</span>}
        {remove && (
          <button type="button" className="quiet" aria-label={playTexts.remove(file.name)} onClick={() => remove(n)}>
            ✕
          </button>
        )}
      </li>
    ))}
  </ul>
);
