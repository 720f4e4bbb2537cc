import { plainTitle } from '../components/title';
import { cx } from '../components/ui';

// TitleText is the first line of a text.
export function TitleText({ text, className }: { text: string; className?: string }) {
  const line = text.split('\n').find((one) => one.trim() !== '') ?? '';
  return (
    <span dir="auto" className={cx('break-words', className)}>
      {plainTitle(line)}
    </span>
  );
}
