import { useEffect, useRef, useState } from 'react';

const LEFT_MS = 600; // browsers report a drag over the page at least this often

// useDropped takes files dropped anywhere on the page, which would otherwise navigate to
// them, and reports whether files are being dragged over it.
export function useDropped(add: (files: FileList) => void): boolean {
  const [over, setOver] = useState(false);
  const latest = useRef(add);
  latest.current = add;
  useEffect(() => {
    let left: ReturnType<typeof setTimeout> | undefined;
    const onOver = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      setOver(true);
      clearTimeout(left);
      left = setTimeout(() => setOver(false), LEFT_MS);
    };
    const onDrop = (event: DragEvent) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      setOver(false);
      latest.current(event.dataTransfer.files);
    };
    addEventListener('dragover', onOver);
    addEventListener('drop', onDrop);
    return () => {
      clearTimeout(left);
      removeEventListener('dragover', onOver);
      removeEventListener('drop', onDrop);
    };
  }, []);
  return over;
}
