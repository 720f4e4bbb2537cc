import { useQuery } from '@tanstack/react-query';
import { agentList, modelList } from '../api/queries';
import type { ID } from '../api/types';
import type { Abilities } from './composer';

const SEARCHES = 'web_search'; // the tool that serves a search where the provider has none

// useAbilities is what may be asked of the model of a conversation: its own choice, or its agent's.
export function useAbilities(agentID: ID | null, chosen: string | null): Abilities {
  const { data: agents } = useQuery(agentList('any'));
  const { data: models } = useQuery(modelList());
  const agent = agents?.find((one) => (agentID ? one.id === agentID : one.slug === 'parley'));
  const id = chosen || agent?.model || models?.default;
  const model = models?.data.find((one) => one.id === id);
  return {
    think: model?.reasoning ?? false,
    search: model?.search || (agent?.tools.some((tool) => (typeof tool === 'string' ? tool : 'name' in tool && tool.name) === SEARCHES) ?? false),
  };
}
