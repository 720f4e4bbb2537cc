import { useQuery } from '@tanstack/react-query';
import { FileText } from 'lucide-react';
import { fileOf } from '../api/queries';
import type { ID } from '../api/types';
import { size } from '../components/format';

const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']; // for which the server makes thumbnails

// Files shows the attachments of a message: images as thumbnails, others by name.
export function Files({ ids }: { ids: ID[] }) {
  return (
    <ul className="mt-2 flex flex-wrap gap-2" aria-label="Files">
      {ids.map((id) => (
        <li key={id}>
          <File id={id} />
        </li>
      ))}
    </ul>
  );
}

function File({ id }: { id: ID }) {
  const { data: file, isError } = useQuery(fileOf(id));
  const image = file && IMAGES.includes(file.media_type);
  return (
    <a href={`/v1/files/${id}/content`} className="flex h-12 max-w-64 items-center gap-2 overflow-hidden rounded-lg border border-line bg-bg pr-2.5 text-xs text-soft hover:text-text" title={file?.name}>
      <span className="flex size-12 shrink-0 items-center justify-center bg-sunken">{image ? <img src={`/v1/files/${id}/thumbnail`} alt="" className="size-12 object-cover" /> : <FileText size={16} aria-hidden />}</span>
      <span className="min-w-0">
        <span className="block truncate">{file?.name ?? (isError ? 'a deleted file' : '…')}</span>
        {file && <span className="block text-faint">{size(file.size)}</span>}
      </span>
    </a>
  );
}
