import { useState } from 'react';
import { request, sentence } from '../api/http';
import type { FileInfo } from '../api/types';

const MOST_BYTES = 64 * 1024 * 1024;

export interface Attached {
  key: string;
  name: string;
  file: FileInfo | null; // null while it is on its way
  error: string;
}

// useFiles uploads what is dropped, pasted or chosen, and holds it for the next message.
export function useFiles() {
  const [files, setFiles] = useState<Attached[]>([]);
  const add = (chosen: Iterable<File>) => {
    for (const file of chosen) {
      const key = crypto.randomUUID();
      const change = (fields: Partial<Attached>) => setFiles((all) => all.map((one) => (one.key === key ? { ...one, ...fields } : one)));
      const name = file.name || `pasted.${file.type.split('/')[1] ?? 'bin'}`;
      setFiles((all) => [...all, { key, name, file: null, error: file.size > MOST_BYTES ? 'Larger than 64 MiB.' : '' }]);
      if (file.size > MOST_BYTES) continue;
      const form = new FormData();
      form.set('file', file, name);
      request<FileInfo>('/v1/files', { method: 'POST', raw: { body: form } }).then(
        (uploaded) => change({ file: uploaded }),
        (error: unknown) => change({ error: sentence(error) }),
      );
    }
  };
  return {
    files,
    add,
    remove: (key: string) => setFiles((all) => all.filter((one) => one.key !== key)),
    clear: () => setFiles([]),
    ready: files.every((one) => one.file || one.error),
    ids: files.flatMap((one) => (one.file ? [one.file.id] : [])),
  };
}
