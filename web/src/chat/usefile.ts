import { useEffect, useRef, useState } from 'react';
import { sentence } from '../api/http';
import type { FileInfo } from '../api/types';
import { type Upload, upload } from './upload';

const MOST_BYTES = 64 * 1024 * 1024;

export interface Attached {
  key: string;
  name: string;
  share: number; // sent so far, from 0 to 1
  file: FileInfo | null; // null while it is uploading
  error: string;
}

// useFiles uploads dropped, pasted or chosen files, and keeps them for the next message.
export function useFiles() {
  const [files, setFiles] = useState<Attached[]>([]);
  const uploads = useRef(new Map<string, Upload>());
  const drop = (key: string) => {
    uploads.current.get(key)?.abort();
    uploads.current.delete(key);
  };
  useEffect(() => {
    const running = uploads.current;
    return () => running.forEach((one) => one.abort());
  }, []);
  const add = (chosen: Iterable<File>) => {
    for (const file of chosen) {
      const key = crypto.randomUUID();
      const change = (fields: Partial<Attached>) => setFiles((all) => all.map((one) => (one.key === key ? { ...one, ...fields } : one)));
      const name = file.name || `pasted.${file.type.split('/')[1] ?? 'bin'}`;
      setFiles((all) => [...all, { key, name, share: 0, file: null, error: file.size > MOST_BYTES ? 'Larger than 64 MiB.' : '' }]);
      if (file.size > MOST_BYTES) continue;
      const sent = upload(file, name, (share) => change({ share }));
      uploads.current.set(key, sent);
      sent.done.then(
        (uploaded) => change({ file: uploaded }),
        (error: unknown) => change({ error: sentence(error) }),
      );
    }
  };
  return {
    files,
    add,
    remove: (key: string) => {
      drop(key);
      setFiles((all) => all.filter((one) => one.key !== key));
    },
    clear: () => setFiles([]),
    ready: files.every((one) => one.file || one.error),
    refused: files.filter((one) => one.error),
    ids: files.flatMap((one) => (one.file ? [one.file.id] : [])),
  };
}
