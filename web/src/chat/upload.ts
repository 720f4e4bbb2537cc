import { Offline, problemOf } from '../api/http';
import type { FileInfo } from '../api/types';

// Upload is a file being sent; abort cancels it.
export interface Upload {
  done: Promise<FileInfo>;
  abort: () => void;
}

// upload sends a file and reports the share sent, from 0 to 1, which fetch cannot do.
export function upload(file: File, name: string, onProgress: (share: number) => void): Upload {
  const sent = new XMLHttpRequest();
  const done = new Promise<FileInfo>((resolve, reject) => {
    sent.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    sent.onload = () => {
      if (sent.status < 300) resolve(JSON.parse(sent.responseText) as FileInfo);
      else reject(problemOf(sent.status, (header) => sent.getResponseHeader(header), sent.responseText));
    };
    sent.onerror = () => reject(new Offline());
    const form = new FormData();
    form.set('file', file, name);
    sent.open('POST', '/v1/files');
    sent.setRequestHeader('Accept', 'application/json');
    sent.send(form);
  });
  return { done, abort: () => sent.abort() };
}
