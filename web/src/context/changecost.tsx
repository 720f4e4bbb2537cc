import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { request } from '../api/http';
import type { ChangeCost as Compared, ChangeInput, ID, Preview } from '../api/types';
import { cx } from '../components/ui';
import { saysOf } from './foretold';

const PAUSE = 400; // milliseconds without another change
const LONGEST = 262_144; // characters of a change that is asked about

interface Props {
  session: ID;
  change: ChangeInput | null; // null: there is none
  about?: string; // what the sentence is about, before it
  className?: string;
}

// ChangeCost tells what a change of a conversation will cost, before it is made. It is a help alone: while it is
// asked for, and if it cannot be told, nothing is shown. Another change ends the request about the one before. Above
// buttons its className keeps the height of two lines free, so that they do not move away from under a pointer.
export function ChangeCost({ session, change, about, className }: Props) {
  const wanted = change ? JSON.stringify(change) : '';
  const [asked, setAsked] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setAsked(wanted.length <= LONGEST ? wanted : ''), PAUSE);
    return () => clearTimeout(timer);
  }, [wanted]);
  const { data } = useQuery({
    queryKey: ['foretold', session, asked],
    queryFn: ({ signal }) => foretell(session, JSON.parse(asked) as ChangeInput, signal),
    enabled: asked !== '',
    placeholderData: keepPreviousData,
    staleTime: 0,
    gcTime: 0, // the next message changes it
    retry: false,
  });
  const says = (wanted && asked && data) || '';
  return (
    <span aria-live="polite" data-cost className={cx('block', className)}>
      {says && about ? `${about}: ${says}` : says}
    </span>
  );
}

async function foretell(session: ID, change: ChangeInput, signal: AbortSignal): Promise<string> {
  const shown = await request<Preview & { change: Compared }>(`/v1/sessions/${encodeURIComponent(session)}/preview`, { query: { brief: true }, body: { change }, signal });
  return saysOf(change, shown);
}
