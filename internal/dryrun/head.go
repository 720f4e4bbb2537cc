package dryrun

import (
	"context"
	"slices"
	"sort"

	"example.org/parley"
	"example.org/parley/store"
)

// headPage is how many messages of a role are read to find the next one that may be shown.
const headPage = 64

// ContextHead returns the real head, as far as the run's record reaches and with the marks that messages have here: a
// dry run itself pins nothing and writes no summary. CodeConflict if a context edge lies behind that record.
func (m *Memory) ContextHead(ctx context.Context, workspaceID, sessionID parley.ID) (parley.ContextHead, error) {
	if m.fresh {
		return parley.ContextHead{}, nil
	}
	head, err := m.Reads.ContextHead(ctx, workspaceID, sessionID)
	if err != nil {
		return head, err
	}
	if head.Edge > m.base {
		return head, parley.Errorf(
			parley.CodeConflict,
			"The context was cleared after this message, so what a fork before it shows cannot be previewed.",
		)
	}
	scope := store.Scope{WorkspaceID: workspaceID}
	if head.Summary, err = m.summary(ctx, scope, sessionID, &head); err != nil {
		return head, err
	}
	if head.Summary != nil && m.changed[head.Summary.ID] != nil {
		head.Summary = m.changed[head.Summary.ID]
	}
	if head.First, err = m.first(ctx, scope, sessionID, &head); err != nil {
		return head, err
	}
	head.Pinned, err = m.pinned(ctx, scope, sessionID, head.Pinned)
	return head, err
}

// shows reports whether a message of the real store may precede a window here.
func (m *Memory) shows(one *parley.Message) bool {
	return one.Sequence <= m.base && !one.Internal && !m.marksOf(one).SetAside &&
		(one.Status == parley.MessageCompleted || one.Status == parley.MessageCancelled)
}

// summary finds the summary that is shown: another one than the real store's if a mark or the record's end excludes
// that, or if a mark brings back a later one.
func (m *Memory) summary(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	head *parley.ContextHead,
) (*parley.Message, error) {
	again := slices.ContainsFunc(m.roles(parley.RoleSummary), func(one *parley.Message) bool {
		return head.Summary == nil || one.Sequence > head.Summary.Sequence
	})
	if !again && (head.Summary == nil || m.shows(head.Summary)) {
		return head.Summary, nil
	}
	page, err := m.Reads.Messages(ctx, scope, sessionID, store.MessageQuery{
		Roles: []parley.Role{parley.RoleSummary}, AfterSequence: m.base + 1, Descending: true, RecordOnly: true,
		Limit: headPage,
	})
	at := slices.IndexFunc(page, func(one parley.Message) bool {
		return one.CoversThrough != nil && *one.CoversThrough >= head.Edge && m.shows(&one)
	})
	if err != nil || at < 0 {
		return nil, err
	}
	return &page[at], nil
}

// first finds the first user message that is shown.
func (m *Memory) first(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	head *parley.ContextHead,
) (*parley.Message, error) {
	again := slices.ContainsFunc(m.roles(parley.RoleUser), func(one *parley.Message) bool {
		return head.First == nil || one.Sequence < head.First.Sequence
	})
	if !again && (head.First == nil || m.shows(head.First)) {
		return head.First, nil
	}
	page, err := m.Reads.Messages(ctx, scope, sessionID, store.MessageQuery{
		Roles: []parley.Role{parley.RoleUser}, AfterSequence: max(0, head.Edge-1), RecordOnly: true, Limit: headPage,
	})
	at := slices.IndexFunc(page, func(one parley.Message) bool { return m.shows(&one) })
	if err != nil || at < 0 {
		return nil, err
	}
	return &page[at], nil
}

// roles returns the messages of a role whose marks differ here.
func (m *Memory) roles(role parley.Role) (found []*parley.Message) {
	for _, one := range m.changed {
		if one.Role == role {
			found = append(found, one)
		}
	}
	return found
}

// pinned adds to the real store's pinned messages those that are pinned here, and removes those that are not, each with
// its call or result.
func (m *Memory) pinned(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	rows []parley.Message,
) ([]parley.Message, error) {
	if len(m.changed) == 0 && !slices.ContainsFunc(rows, func(one parley.Message) bool { return !m.shows(&one) }) {
		return rows, nil
	}
	var pins []parley.Message
	held := map[parley.ID]bool{}
	for _, one := range rows {
		if m.shows(&one) && m.marksOf(&one).Pinned {
			pins, held[one.ID] = append(pins, one), true
		}
	}
	for _, one := range m.changed {
		if m.shows(one) && one.Marks.Pinned && !held[one.ID] {
			pins, held[one.ID] = append(pins, *one), true
		}
	}
	sortBySequence(pins)
	pins = newestPins(pins)
	for _, one := range slices.Clone(pins) {
		pair, err := m.pairOf(ctx, scope, sessionID, &one)
		if err != nil {
			return nil, err
		}
		if pair != nil && !held[pair.ID] {
			pins, held[pair.ID] = append(pins, *pair), true
		}
	}
	sortBySequence(pins)
	return pins, nil
}

func sortBySequence(messages []parley.Message) {
	sort.Slice(messages, func(i, j int) bool { return messages[i].Sequence < messages[j].Sequence })
}

// newestPins returns as many of the newest pinned messages as may be carried.
func newestPins(pins []parley.Message) []parley.Message {
	from, size := len(pins), 0
	for from > 0 && len(pins)-from < parley.MaxPinnedShown && size+pins[from-1].Size() <= parley.MaxPinnedBytes {
		from--
		size += pins[from].Size()
	}
	return pins[from:]
}

// pairOf finds the result of a call, or the call of a result; nil if there is none.
func (m *Memory) pairOf(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	of *parley.Message,
) (*parley.Message, error) {
	other := parley.RoleToolResult
	switch of.Role {
	case parley.RoleToolCall:
	case parley.RoleToolResult:
		other = parley.RoleToolCall
	default:
		return nil, nil
	}
	page, err := m.Reads.Messages(ctx, scope, sessionID, store.MessageQuery{
		Roles: []parley.Role{other}, TurnID: of.TurnID, RecordOnly: true, Limit: parley.MaxPage,
	})
	at := slices.IndexFunc(page, func(one parley.Message) bool {
		return one.ToolCallID == of.ToolCallID && one.CallOrdinal == of.CallOrdinal && m.shows(&one)
	})
	if err != nil || at < 0 {
		return nil, err
	}
	return &page[at], nil
}
